#include "control_client.h"

#include <utility>

#include "base/version.h"
#include "caller.h"
#include "control_frames.h"
#include "os/runtime_dir.h"
#include "os/socket.h"

namespace loom::broker {
namespace {

constexpr Duration kPatience = seconds(5);

}  // namespace

Result<std::unique_ptr<ControlClient>> ControlClient::connect(Loop& loop, const std::string& socket,
                                                              ClientEvents events) {
  LOOM_TRY(UniqueFd fd, connect_unix(socket, kPatience));
  return std::unique_ptr<ControlClient>(new ControlClient(loop, std::move(fd), socket, std::move(events)));
}

ControlClient::ControlClient(Loop& loop, UniqueFd socket, std::string path, ClientEvents events)
    : path_(std::move(path)), events_(std::move(events)) {
  channel_ = std::make_unique<service::FrameChannel>(
      loop, std::move(socket),
      service::ChannelEvents{[this](const Frame& frame) { on_frame(frame); },
                             [this](service::ChannelEnd how, const Error& why) {
                               const bool told = how != service::ChannelEnd::kEof && !why.what.empty();
                               lose(Error{ready_ ? "connection_lost" : "no_broker",
                                          path_,
                                          told ? why.what : "the broker closed the connection",
                                          {}});
                             }});
  hello_timer_ = loop.timer(loop.now() + kPatience, [this] {
    lose(Error{"no_broker", path_, "no broker answers: nothing was said for five seconds", {}});
  });
}

void ControlClient::lose(const Error& error) {
  if (std::exchange(lost_, true)) return;
  hello_timer_.reset();
  events_.lost(error);
}

void ControlClient::send(std::uint64_t id, const Request& request) {
  channel_->send(encode_request(id, request));
}

void ControlClient::on_frame(const Frame& frame) {
  if (lost_) return;
  const auto reply = decode_reply(frame);
  if (!reply) return lose(Error(reply.error()).context(path_));
  // An error about the channel itself is the broker's last word.
  if (const auto* error = std::get_if<ErrorMessage>(&*reply); error != nullptr && (frame.id == 0 || !ready_)) {
    return lose(Error{error->code, path_, error->msg, {}});
  }
  if (!ready_) return on_hello(*reply);
  events_.reply(frame.id, *reply);
}

void ControlClient::on_hello(const ControlReply& reply) {
  const auto* hello = std::get_if<Hello>(&reply);
  if (hello == nullptr) return lose(Error{"protocol_violation", path_, "the broker did not say hello first", {}});
  if (hello->proto != kControlProto) {
    const bool behind = hello->proto < kControlProto;
    return lose(Error{"proto_mismatch",
                      path_,
                      "the broker speaks control protocol " + std::to_string(hello->proto) + ", this loom-broker " +
                          std::to_string(kControlProto) + ": " + (behind ? "the broker is" : "this loom-broker is") +
                          " behind",
                      {}});
  }
  hello_timer_.reset();
  ready_ = true;
  channel_->send(encode_client_hello());
  events_.ready();
}

Result<std::string> find_socket(const std::optional<std::string>& socket_flag,
                                const std::optional<std::string>& runtime_flag) {
  LOOM_TRY(const service::CallerFacts here, caller_facts());
  if (socket_flag && !socket_flag->empty()) return service::absolute_path(*socket_flag, here.cwd);
  const auto named = here.environment("LOOM_SOCKET");
  if (!runtime_flag && named && !named->empty()) return service::absolute_path(*named, here.cwd);
  LOOM_TRY(const std::string directory, find_runtime_dir(runtime_flag));
  return service::absolute_path(directory, here.cwd) + "/broker.sock";
}

}  // namespace loom::broker
