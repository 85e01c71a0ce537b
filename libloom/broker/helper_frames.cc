// What a helper sends, judged: the handshake, the routing by id, the accounts of each stream.
#include <algorithm>
#include <utility>

#include "base/version.h"
#include "broker/helper_moves.h"
#include "wire/empty.h"
#include "wire/kinds.h"
#include "wire/proto.h"

namespace loom::broker::helper_moves {

namespace {

// The peer broke the protocol in a way that concerns the channel.
void violate(HelperCore& core, const std::string& what, TimePoint now, Effects& out) {
  out.push_back(helper_effect::Send{0, ErrorMessage{"protocol_violation", what}});
  die(core, Death{"protocol violation: " + what, protocol_violation(what), {}, {}, false}, Kill::kAfterWords, now, out);
}

// The same, where one execution is at fault.
void violate(HelperCore& core, StartId culprit, const std::string& what, TimePoint now, Effects& out) {
  out.push_back(helper_effect::Send{0, ErrorMessage{"protocol_violation", what}});
  die(core, Death{"protocol violation: " + what, {}, {culprit}, protocol_violation(what), false}, Kill::kAfterWords,
      now, out);
}

void malformed(HelperCore& core, const Frame& frame, const Error& error, TimePoint now, Effects& out) {
  const std::string what = error.text();  // it names the kind
  out.push_back(helper_effect::Send{frame.id, ErrorMessage{"malformed_frame", what}});
  die(core, Death{"malformed_frame: " + frame.kind, channel_closed("malformed_frame: " + what), {}, {}, false},
      Kill::kAfterWords, now, out);
}

void mismatch(HelperCore& core, const ExecHello& hello, TimePoint now, Effects& out) {
  const std::uint64_t theirs = hello.proto;
  const std::string what = loom::proto_mismatch({core.peer, kExecProto}, {hello.peer, theirs}).what;
  out.push_back(helper_effect::Send{0, ErrorMessage{"proto_mismatch", what}});
  die(core, Death{what, proto_mismatch(theirs), {}, {}, false}, Kill::kAfterWords, now, out,
      {{"detail", what}, {"kind", "proto_mismatch"}, {"helper", theirs}, {"broker", kExecProto}});
}

void on_hello(HelperCore& core, const Frame& frame, TimePoint now, Effects& out) {
  auto hello = decode_exec_hello(frame.body);
  if (!hello) return malformed(core, frame, hello.error(), now, out);
  if (hello->proto != kExecProto) return mismatch(core, *hello, now, out);
  if (hello->capacity < 1 || hello->capacity > kMaxCapacity)
    return violate(core, "hello: capacity is not 1..4", now, out);
  core.hello = std::move(*hello);
  core.phase = HelperPhase::kLive;
  core.handshake_due.reset();
  if (core.heartbeat) core.heartbeat_next = now + kHeartbeatEvery;
  send(core, ExecHello{kExecProto, core.peer, {}, 0}, out);
  out.push_back(helper_effect::Ready{});
}

// Its sums and flags are held against what came.
std::string fault_of(const Runner& runner, const ExecExit& exit) {
  if (exit.stdout_bytes != runner.stdout_bytes) return "exec_exit: stdout_bytes is not the sum of what was sent";
  if (exit.stderr_bytes != runner.stderr_bytes) return "exec_exit: stderr_bytes is not the sum of what was sent";
  if (runner.stdout_truncated && !exit.stdout_truncated) return "exec_exit: stdout was truncated before";
  if (runner.stderr_truncated && !exit.stderr_truncated) return "exec_exit: stderr was truncated before";
  return {};
}

void on_exit_frame(HelperCore& core, const Frame& frame, TimePoint now, Effects& out) {
  auto exit = decode_exec_exit(frame.body);
  if (!exit) return malformed(core, frame, exit.error(), now, out);
  const auto at = core.runners.find(frame.id);
  if (at == core.runners.end()) return violate(core, "exec_exit for no running execution", now, out);
  if (const std::string fault = fault_of(at->second, *exit); !fault.empty()) {
    return violate(core, frame.id, fault, now, out);
  }
  core.runners.erase(at);
  out.push_back(helper_effect::Exit{frame.id, std::move(*exit)});
}

// The channel's own errors carry id 0: the helper is about to leave.
void on_channel_error(HelperCore& core, const ErrorMessage& error, TimePoint now, Effects& out) {
  if (error.code == "proto_mismatch") {
    die(core, Death{"the helper refuses this broker's protocol", proto_mismatch(core.hello.proto), {}, {}, false},
        Kill::kYes, now, out, {{"detail", "the helper refuses this broker's protocol"}, {"kind", "proto_mismatch"}});
    return;
  }
  die(core, Death{"the helper closed the channel", channel_closed(error.code + ": " + error.msg), {}, {}, false},
      Kill::kYes, now, out);
}

void on_error(HelperCore& core, const Frame& frame, TimePoint now, Effects& out) {
  auto error = decode_error(frame.body);
  if (!error) return malformed(core, frame, error.error(), now, out);
  if (frame.id == 0) return on_channel_error(core, *error, now, out);
  const auto at = core.runners.find(frame.id);
  if (at == core.runners.end()) {
    // About a control frame of ours (stdin for an ended command, ...), or about nothing that we ever sent.
    if (frame.id >= core.next_id) violate(core, "error for a frame that was never sent", now, out);
    return;
  }
  if (error->code == "jail_lost") {
    core.runners.erase(at);
    out.push_back(helper_effect::Down{frame.id, true});
    return;
  }
  const bool ran = at->second.stdout_bytes + at->second.stderr_bytes > 0;
  if (ran) return violate(core, frame.id, "a refusal after output", now, out);
  core.runners.erase(at);
  out.push_back(helper_effect::Failed{frame.id, helper_refused(std::move(error->code), std::move(error->msg))});
}

void on_credit(HelperCore& core, const Frame& frame, TimePoint now, Effects& out) {
  const auto credit = decode_exec_credit(frame.body);
  if (!credit) return malformed(core, frame, credit.error(), now, out);
  if (credit->stream != Stream::kStdin) return violate(core, "exec_credit for a stream it sends itself", now, out);
  const auto at = core.runners.find(credit->target);
  if (at == core.runners.end() || credit->upto <= at->second.stdin_upto) return;
  at->second.stdin_upto = credit->upto;
  out.push_back(helper_effect::StdinAllowed{credit->target, credit->upto});
}

void on_heartbeat(HelperCore& core, const Frame& frame, TimePoint now, Effects& out) {
  if (const Status body = decode_empty(Kind::kHeartbeat, frame.body); !body) {
    return malformed(core, frame, body.error(), now, out);
  }
  if (!core.heartbeat_due || frame.id != core.heartbeat_id) {
    return violate(core, "a heartbeat that echoes none of ours", now, out);
  }
  core.heartbeat_due.reset();
  core.heartbeat_next = now + kHeartbeatEvery;
}

void on_live_frame(HelperCore& core, Kind kind, Frame& frame, TimePoint now, Effects& out) {
  switch (kind) {
    case Kind::kHello:
      return on_hello(core, frame, now, out);
    case Kind::kExecExit:
      return on_exit_frame(core, frame, now, out);
    case Kind::kError:
      return on_error(core, frame, now, out);
    case Kind::kExecCredit:
      return on_credit(core, frame, now, out);
    case Kind::kHeartbeat:
      return on_heartbeat(core, frame, now, out);
    case Kind::kExecOut: {
      auto output = decode_exec_out(std::move(frame.body));
      if (!output) return malformed(core, frame, output.error(), now, out);
      return on_output(core, frame.id, std::move(*output), now, out);
    }
    case Kind::kExecStart:
    case Kind::kExecStdin:
    case Kind::kExecWinsize:
    case Kind::kCancel:
    case Kind::kShutdown:
    case Kind::kClearCall:
    case Kind::kCallStarted:
    case Kind::kCallRefused:
    case Kind::kCallOutput:
    case Kind::kCallSettled:
    case Kind::kCallStdin:
    case Kind::kCallWinsize:
    case Kind::kCallCredit:
    case Kind::kCallCancel:
    case Kind::kCallHook:
    case Kind::kAbortOp:
    case Kind::kAbortStep:
    case Kind::kSnapshot:
    case Kind::kCensus:
    case Kind::kStop:
    case Kind::kOk:
    case Kind::kCapCall:
    case Kind::kCapResult:
    case Kind::kHookCall:
    case Kind::kHookResult:
      return violate(core, std::string(to_text(kind)) + " from a helper", now, out);
  }
}

}  // namespace

void on_output(HelperCore& core, StartId id, ExecOut output, TimePoint now, Effects& out) {
  if (core.phase == HelperPhase::kDead) return;
  if (core.phase != HelperPhase::kLive) return violate(core, "exec_out before hello", now, out);
  const auto at = core.runners.find(id);
  if (at == core.runners.end()) return violate(core, "exec_out for no running execution", now, out);
  Runner& runner = at->second;
  const bool is_out = output.stream == Stream::kStdout;
  std::uint64_t& bytes = is_out ? runner.stdout_bytes : runner.stderr_bytes;
  bool& truncated = is_out ? runner.stdout_truncated : runner.stderr_truncated;
  const std::uint64_t upto = is_out ? runner.stdout_upto : runner.stderr_upto;
  if (truncated) return violate(core, id, "exec_out after its stream was truncated", now, out);
  if (output.bytes != bytes + output.data.size()) return violate(core, id, "exec_out: bytes is not the sum", now, out);
  if (output.bytes > upto) return violate(core, id, "exec_out past its credit", now, out);
  bytes = output.bytes;
  truncated = output.truncated;
  out.push_back(helper_effect::Output{id, std::move(output)});
}

void on_frame(HelperCore& core, Frame frame, TimePoint now, Effects& out) {
  switch (core.phase) {
    case HelperPhase::kPrepared:
    case HelperPhase::kDead:
      return;
    case HelperPhase::kAwaitingHello:
    case HelperPhase::kLive:
      break;
  }
  const auto kind = parse_kind(frame.kind);
  if (!kind) {
    out.push_back(helper_effect::Send{frame.id, ErrorMessage{"unknown_kind", "this broker does not know the kind"}});
    return;
  }
  const Phase phase = core.phase == HelperPhase::kLive ? Phase::kOpen : Phase::kAwaitingHello;
  if (permission(Channel::kExec, *kind, Receiver::kBroker, phase) == Permission::kForbidden) {
    const char* when = phase == Phase::kOpen ? " may not come now" : " before hello";
    return violate(core, std::string(to_text(*kind)) + when, now, out);
  }
  on_live_frame(core, *kind, frame, now, out);
}

}  // namespace loom::broker::helper_moves
