// The two outbound boundaries as frames.
#include <utility>

#include "base/hash.h"
#include "base/msgpack.h"
#include "broker/broker_core.h"
#include "wire/data_frame.h"
#include "wire/empty.h"
#include "wire/kinds.h"

namespace loom::broker {

namespace {

struct KindOf {
  Kind operator()(const ExecHello&) const { return Kind::kHello; }
  Kind operator()(const ExecStart&) const { return Kind::kExecStart; }
  Kind operator()(const ExecStdin&) const { return Kind::kExecStdin; }
  Kind operator()(const ExecWinsize&) const { return Kind::kExecWinsize; }
  Kind operator()(const ExecCredit&) const { return Kind::kExecCredit; }
  Kind operator()(const Cancel&) const { return Kind::kCancel; }
  Kind operator()(const Shutdown&) const { return Kind::kShutdown; }
  Kind operator()(const Heartbeat&) const { return Kind::kHeartbeat; }
  Kind operator()(const ErrorMessage&) const { return Kind::kError; }
  Kind operator()(const Hello&) const { return Kind::kHello; }
  Kind operator()(const CallStarted&) const { return Kind::kCallStarted; }
  Kind operator()(const CallRefused&) const { return Kind::kCallRefused; }
  Kind operator()(const CallOutput&) const { return Kind::kCallOutput; }
  Kind operator()(const CallSettled&) const { return Kind::kCallSettled; }
  Kind operator()(const CallCredit&) const { return Kind::kCallCredit; }
  Kind operator()(const Ok&) const { return Kind::kOk; }
  Kind operator()(const HeartbeatEcho&) const { return Kind::kHeartbeat; }
};

struct BodyOf {
  Value operator()(const Shutdown&) const { return encode_empty(); }
  Value operator()(const Heartbeat&) const { return encode_empty(); }
  Value operator()(const HeartbeatEcho&) const { return encode_empty(); }
  template <class Message>
  Value operator()(const Message& message) const {
    return encode(message);
  }
};

// The one secret that a body holds. It is put in when the size is known, so that no buffer that grows leaves a copy of
// it behind, and what held it is wiped. The frame itself is wiped by whoever writes it.
std::string encode_start(std::uint64_t id, ExecStart start) {
  std::string token = std::exchange(start.token, std::string(start.token.size(), '\0'));
  Value body = encode(start);
  const std::size_t size = render_msgpack(body).size();
  for (Member& member : *body.get_if<Map>()) {
    if (member.first == "token") member.second.get_if<Binary>()->bytes.swap(token);
  }
  std::string frame = encode_frame(id, to_text(Kind::kExecStart), body, size);
  for (Member& member : *body.get_if<Map>()) {
    if (member.first == "token") wipe(member.second.get_if<Binary>()->bytes);
  }
  return frame;
}

}  // namespace

// Data goes by its own lane: copied once, into the frame.
std::string encode_exec(std::uint64_t id, ExecMessage message) {
  if (const auto* input = std::get_if<ExecStdin>(&message)) {
    return encode_input(Kind::kExecStdin, {id, input->target, input->data, input->eof});
  }
  if (auto* start = std::get_if<ExecStart>(&message)) return encode_start(id, std::move(*start));
  return encode_frame(id, to_text(std::visit(KindOf{}, message)), std::visit(BodyOf{}, message));
}

std::string encode_control(std::uint64_t id, const ControlReply& message) {
  if (const auto* output = std::get_if<CallOutput>(&message)) {
    return encode_output(Kind::kCallOutput, {id, output->stream, output->data, output->bytes, output->truncated});
  }
  return encode_frame(id, to_text(std::visit(KindOf{}, message)), std::visit(BodyOf{}, message));
}

}  // namespace loom::broker
