#include "control_frames.h"

#include "base/version.h"
#include "wire/kinds.h"

namespace loom::broker {
namespace {

struct Encoded {
  Kind kind;
  Value body;
};

struct EncodeRequest {
  Encoded operator()(const CallSpec& m) const { return {Kind::kClearCall, encode(m)}; }
  Encoded operator()(const CallStdin& m) const { return {Kind::kCallStdin, encode(m)}; }
  Encoded operator()(const CallWinsize& m) const { return {Kind::kCallWinsize, encode(m)}; }
  Encoded operator()(const CallCredit& m) const { return {Kind::kCallCredit, encode(m)}; }
  Encoded operator()(const CallCancel& m) const { return {Kind::kCallCancel, encode(m)}; }
  Encoded operator()(const CallHook& m) const { return {Kind::kCallHook, encode(m)}; }
  Encoded operator()(const AbortOp& m) const { return {Kind::kAbortOp, encode(m)}; }
  Encoded operator()(const AbortStep& m) const { return {Kind::kAbortStep, encode(m)}; }
  Encoded operator()(const SnapshotRequest&) const { return {Kind::kSnapshot, Value(Map{})}; }
  Encoded operator()(const CensusRequest&) const { return {Kind::kCensus, Value(Map{})}; }
  Encoded operator()(const Stop& m) const { return {Kind::kStop, encode(m)}; }
  Encoded operator()(const HeartbeatRequest&) const { return {Kind::kHeartbeat, Value(Map{})}; }
};

template <class T>
Result<ControlReply> as_reply(Result<T> decoded) {
  if (!decoded) return fail(std::move(decoded).error());
  return ControlReply(std::move(*decoded));
}

Result<ControlReply> decode_body(Kind kind, const Value& body) {
  switch (kind) {
    case Kind::kHello:
      return as_reply(decode_hello(body));
    case Kind::kCallStarted:
      return as_reply(decode_call_started(body));
    case Kind::kCallRefused:
      return as_reply(decode_call_refused(body));
    case Kind::kCallOutput:
      return as_reply(decode_call_output(body));
    case Kind::kCallSettled:
      return as_reply(decode_call_settled(body));
    case Kind::kCallCredit:
      return as_reply(decode_call_credit(body));
    case Kind::kOk:
      return as_reply(decode_ok(body));
    case Kind::kError:
      return as_reply(decode_error(body));
    case Kind::kHeartbeat:
      return ControlReply(HeartbeatEcho{});
    case Kind::kExecStart:
    case Kind::kExecStdin:
    case Kind::kExecWinsize:
    case Kind::kExecCredit:
    case Kind::kExecOut:
    case Kind::kExecExit:
    case Kind::kCancel:
    case Kind::kShutdown:
    case Kind::kClearCall:
    case Kind::kCallStdin:
    case Kind::kCallWinsize:
    case Kind::kCallCancel:
    case Kind::kCallHook:
    case Kind::kAbortOp:
    case Kind::kAbortStep:
    case Kind::kSnapshot:
    case Kind::kCensus:
    case Kind::kStop:
    case Kind::kCapCall:
    case Kind::kCapResult:
    case Kind::kHookCall:
    case Kind::kHookResult:
      break;
  }
  return fail("protocol_violation", "", "the broker sent a " + std::string(to_text(kind)));
}

}  // namespace

std::string encode_request(std::uint64_t id, const Request& request) {
  const Encoded encoded = std::visit(EncodeRequest{}, request);
  return encode_frame(id, to_text(encoded.kind), encoded.body);
}

std::string encode_client_hello() {
  const Hello hello{kControlProto, "loom-broker/" + std::string(kVersion), {}};
  return encode_frame(0, to_text(Kind::kHello), encode(hello));
}

Result<ControlReply> decode_reply(const Frame& frame) {
  const auto kind = parse_kind(frame.kind);
  if (!kind) return fail("unknown_kind", "", "the broker sent a frame of an unknown kind");
  return decode_body(*kind, frame.body);
}

}  // namespace loom::broker
