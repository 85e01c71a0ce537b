#include "broker/door.h"

#include <string>
#include <utility>

#include "base/version.h"
#include "broker/refusal.h"
#include "wire/empty.h"
#include "wire/kinds.h"
#include "wire/proto.h"

namespace loom::broker {

namespace {

Answer closing(std::string code, std::string msg) {
  return {0, ErrorMessage{std::move(code), std::move(msg)}, true};
}
Answer bad_body(std::uint64_t id, const Error& error) {
  return {id, ErrorMessage{"bad_request", error.text()}, false};
}

template <class T>
DoorVerdict decoded(std::uint64_t id, Result<T> body) {
  if (!body) return bad_body(id, body.error());
  return Request(std::move(*body));
}

template <class T>
DoorVerdict decoded_empty(std::uint64_t id, Kind kind, const Value& body) {
  if (const Status empty = decode_empty(kind, body); !empty) return bad_body(id, empty.error());
  return Request(T{});
}

DoorVerdict judge_hello(DoorState& door, const Frame& frame, std::string_view our_name) {
  const auto hello = decode_hello(frame.body);
  if (!hello) return bad_body(frame.id, hello.error());
  if (hello->proto != kControlProto) {
    return closing("proto_mismatch", loom::proto_mismatch({our_name, kControlProto}, {hello->peer, hello->proto}).what);
  }
  door.open = true;
  door.hello_due.reset();
  return Opened{};
}

DoorVerdict judge_clear_call(DoorState& door, const Frame& frame) {
  if (auto fault = judge_call_id(door, frame.id)) return std::move(*fault);
  auto spec = decode_call_spec(frame.body);
  if (!spec) return Answer{frame.id, to_message(bad_request(spec.error().text())), false};
  return Request(std::move(*spec));
}

DoorVerdict judge_open(DoorState& door, Kind kind, Frame& frame, std::string_view our_name) {
  const std::uint64_t id = frame.id;
  switch (kind) {
    case Kind::kHello:
      return judge_hello(door, frame, our_name);
    case Kind::kClearCall:
      return judge_clear_call(door, frame);
    case Kind::kCallStdin:
      return decoded(id, decode_call_stdin(std::move(frame.body)));
    case Kind::kCallWinsize:
      return decoded(id, decode_call_winsize(frame.body));
    case Kind::kCallCredit:
      return decoded(id, decode_call_credit(frame.body));
    case Kind::kCallCancel:
      return decoded(id, decode_call_cancel(frame.body));
    case Kind::kCallHook:
      return decoded(id, decode_call_hook(frame.body));
    case Kind::kAbortOp:
      return decoded(id, decode_abort_op(frame.body));
    case Kind::kAbortStep:
      return decoded(id, decode_abort_step(frame.body));
    case Kind::kSnapshot:
      return decoded_empty<SnapshotRequest>(id, kind, frame.body);
    case Kind::kCensus:
      return decoded_empty<CensusRequest>(id, kind, frame.body);
    case Kind::kHeartbeat:
      return decoded_empty<HeartbeatRequest>(id, kind, frame.body);
    case Kind::kStop:
      return decoded(id, decode_stop(frame.body));
    case Kind::kExecStart:
    case Kind::kExecStdin:
    case Kind::kExecWinsize:
    case Kind::kExecCredit:
    case Kind::kExecOut:
    case Kind::kExecExit:
    case Kind::kCancel:
    case Kind::kShutdown:
    case Kind::kError:
    case Kind::kCallStarted:
    case Kind::kCallRefused:
    case Kind::kCallOutput:
    case Kind::kCallSettled:
    case Kind::kOk:
    case Kind::kCapCall:
    case Kind::kCapResult:
    case Kind::kHookCall:
    case Kind::kHookResult:
      break;
  }
  return closing("protocol_violation", std::string(to_text(kind)) + " from a client");
}

}  // namespace

std::optional<Answer> judge_call_id(DoorState& door, std::uint64_t id) {
  if (id <= door.last_call) return closing("malformed_frame", "clear_call: an id that does not increase");
  door.last_call = id;
  return std::nullopt;
}

DoorVerdict judge(DoorState& door, Frame frame, std::string_view our_name) {
  const auto kind = parse_kind(frame.kind);
  if (!kind) return Answer{frame.id, ErrorMessage{"unknown_kind", "this broker does not know the kind"}, false};
  const Phase phase = door.open ? Phase::kOpen : Phase::kAwaitingHello;
  if (permission(Channel::kControl, *kind, Receiver::kBroker, phase) == Permission::kForbidden) {
    const char* when = door.open ? " may not come now" : " before hello";
    return closing("protocol_violation", std::string(to_text(*kind)) + when);
  }
  return judge_open(door, *kind, frame, our_name);
}

}  // namespace loom::broker
