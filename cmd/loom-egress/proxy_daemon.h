// loom-egress proxy: the daemon of an allow list (spec/egress.md "The proxy").
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "os/append_file.h"
#include "os/runtime_dir.h"
#include "proxy_config.h"
#include "proxy_connection.h"
#include "service/daemon.h"
#include "service/listener.h"

namespace loom::egress_tool {

struct ProxyOptions {
  std::optional<std::string> socket;  // one of the two
  std::optional<int> listen_fd;
  AllowList allow;
  std::string config;                 // "" without one
  std::optional<std::string> record;  // wins over the configuration's
  bool only_bridges = false;          // whoever else connects is sent away
};

class ProxyDaemon final : public service::Daemon {
 public:
  ProxyDaemon(Loop& loop, ProxyOptions options) : loop_(loop), options_(std::move(options)) {}

  Status open() override;
  std::string serve(std::function<void(int)> finish) override;
  void close() override;

 private:
  Status take_socket();
  Status take_owner() const;
  void on_peer(UniqueFd client, pid_t pid);
  void on_finished(std::uint64_t number);
  void on_lost(const Error& error);
  void hold_or_take();
  void say_full();
  void say_once(bool& said, const Error& error);

  // The settings in force, or why there are none.
  Result<const ProxySettings*> refresh();
  Status refresh_record(const ProxySettings& settings);
  [[nodiscard]] egress::TunnelContext context();
  Status record(std::uint64_t number, pid_t pid, const egress::Decision& decision);
  void record_closing(std::uint64_t number, pid_t pid, const egress::Closing& closing);
  Status write(const std::string& line);

  Loop& loop_;
  ProxyOptions options_;
  OwnSocket socket_;  // with --listen-fd only its descriptor
  std::unique_ptr<ProxyConfig> config_;
  std::optional<egress::NameResolver> resolver_;
  std::string resolver_text_;
  std::optional<AppendFile> record_;
  std::string record_path_;
  std::string id_;        // of this process, in records
  std::size_t room_ = 0;  // connections that its descriptors suffice for
  std::optional<TimePoint> said_full_;
  bool said_config_ = false;
  bool said_record_ = false;
  bool closing_ = false;
  bool lost_ = false;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::unique_ptr<ProxyConnection>> connections_;
  std::unique_ptr<service::Listener> listener_;
  std::unique_ptr<service::SocketWatch> watch_;
  std::function<void(int)> finish_;
};

}  // namespace loom::egress_tool
