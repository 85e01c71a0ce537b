// A connection to a running broker: connect and hello within five seconds, then requests and replies (spec/cli.md,
// spec/wire.md "Control channel"). On a Loop; callbacks may destroy it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "broker/event.h"
#include "os/loop.h"
#include "service/frame_channel.h"

namespace loom::broker {

struct ClientEvents {
  std::function<void()> ready;  // hello was exchanged
  std::function<void(std::uint64_t id, const ControlReply&)> reply;
  // Once, the last: no_broker and proto_mismatch before ready, connection_lost or what the broker's own fault was
  // after.
  std::function<void(const Error&)> lost;
};

class ControlClient {
 public:
  // Errors: no_broker, socket_failed, socket_path_too_long.
  [[nodiscard]] static Result<std::unique_ptr<ControlClient>> connect(Loop& loop, const std::string& socket,
                                                                      ClientEvents events);
  // After ready. Ids increase.
  void send(std::uint64_t id, const Request& request);

 private:
  ControlClient(Loop& loop, UniqueFd socket, std::string path, ClientEvents events);
  void on_frame(const Frame& frame);
  void on_hello(const ControlReply& reply);
  void lose(const Error& error);

  std::string path_;
  ClientEvents events_;
  bool ready_ = false;
  bool lost_ = false;
  Loop::Timer hello_timer_;
  std::unique_ptr<service::FrameChannel> channel_;
};

// --socket, else LOOM_SOCKET, else RUNTIME/broker.sock. Errors: no_runtime_dir, socket_path_relative.
[[nodiscard]] Result<std::string> find_socket(const std::optional<std::string>& socket_flag,
                                              const std::optional<std::string>& runtime_flag);

}  // namespace loom::broker
