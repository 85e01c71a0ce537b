// loom-egress serve: the daemon round the endpoint: its sockets, where its tokens come from, and its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "endpoint.h"
#include "os/runtime_dir.h"
#include "service/daemon.h"
#include "service/listener.h"
#include "token_source.h"

namespace loom::egress_tool {

struct ServeOptions {
  std::string socket;
  std::string config;
  std::optional<std::uint16_t> tcp;  // a loopback port as well; 0: one that is free
  std::optional<std::string> token_dir;
  std::optional<int> tokens_fd;
  std::optional<std::string> record;
};

class ServeDaemon final : public service::Daemon {
 public:
  ServeDaemon(Loop& loop, ServeOptions options) : loop_(loop), options_(std::move(options)) {}

  // Tokens are written before anybody can connect.
  Status open() override;
  std::string serve(std::function<void(int)> finish) override;
  // Calls under way get five seconds; a second time, none.
  void close() override;

 private:
  Status open_endpoint();
  Status open_tokens();
  void listen(std::unique_ptr<service::Listener>& listener, int fd);
  void on_changed();
  void on_paused(bool paused);
  void end(int status);
  void end_if_done();

  Loop& loop_;
  ServeOptions options_;
  UniqueFd tcp_;
  std::uint16_t tcp_port_ = 0;
  OwnSocket socket_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<TokenFolder> folder_;
  std::unique_ptr<TokenFeed> feed_;
  Loop::Timer crowded_;
  std::size_t room_ = 0;                // connections that its descriptors suffice for
  std::optional<TimePoint> said_full_;  // that they do not
  bool closing_ = false;
  int status_ = 0;
  Loop::Timer patience_;
  std::unique_ptr<service::Listener> unix_listener_;
  std::unique_ptr<service::Listener> tcp_listener_;
  std::unique_ptr<service::SocketWatch> watch_;
  std::function<void(int)> finish_;
};

}  // namespace loom::egress_tool
