#include "test/support/wire_bodies.h"

#include <string>

#include "wire/abort_op.h"
#include "wire/abort_step.h"
#include "wire/call_cancel.h"
#include "wire/call_credit.h"
#include "wire/call_hook.h"
#include "wire/call_output.h"
#include "wire/call_refused.h"
#include "wire/call_settled.h"
#include "wire/call_spec.h"
#include "wire/call_started.h"
#include "wire/call_stdin.h"
#include "wire/call_winsize.h"
#include "wire/cancel.h"
#include "wire/cap_call.h"
#include "wire/cap_result.h"
#include "wire/empty.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_exit.h"
#include "wire/exec_hello.h"
#include "wire/exec_out.h"
#include "wire/exec_start.h"
#include "wire/exec_stdin.h"
#include "wire/exec_winsize.h"
#include "wire/hello.h"
#include "wire/hook_call.h"
#include "wire/hook_result.h"
#include "wire/ok.h"
#include "wire/stop.h"

namespace loom::test {
namespace {

template <class T>
Result<Value> again(Result<T> message) {
  if (!message) return fail(std::move(message).error());
  return encode(*message);
}

Result<Value> again_empty(Kind kind, const Value& body) {
  LOOM_CHECK(decode_empty(kind, body));
  return encode_empty();
}

Value exit_body() {
  ExecExit exit;
  exit.code = 143;
  exit.signal = 15;
  exit.stdout_bytes = 3;
  exit.enforcement = {"namespaces:net=fresh", "event:warm=miss"};
  exit.wall_ms = 12;
  exit.cancelled = true;
  return encode(exit);
}

std::vector<Value> start_bodies() {
  ExecStart start;
  start.argv = {"/bin/sh", "-c", "echo hi", std::string("\xff\xfe")};
  start.env = {{"PATH", "/usr/bin"}, {"RAW", "\xff"}};
  start.cwd = "/ws";
  start.token = "0123456789abcdef";
  const ExecStart least = start;
  start.policy = Value(Map{{"v", 3}});
  start.limits = Value(Map{{"wall_s", 5}, {"pids", 0}});
  start.demand = "full";
  start.why = "paths";
  start.tty = TtySize{24, 80};
  return {encode(start), encode(least)};
}

std::vector<Value> spec_bodies() {
  CallSpec spec;
  spec.op_id = "op";
  spec.step_id = "1";
  spec.argv = {"true"};
  const CallSpec least = spec;
  spec.env = {{"PATH", "/usr/bin"}};
  spec.cwd = "/ws";
  spec.requirements = Value(Map{{"v", 3}});
  spec.grants = {Value(Map{{"kind", "env"}, {"value", "HOME"}}),
                 Value(Map{{"kind", "limit"}, {"field", "pids"}, {"value", 9}})};
  spec.narrowed = "proceed";
  spec.demand = "best_effort";
  spec.why = "calls";
  spec.budget = {7, 1000};
  spec.waiting_ms = 1;
  spec.deadline_ms = 2;
  spec.wants_stdin = false;
  spec.session = "wire";
  spec.caps = {"exec.run"};
  spec.caller = "someone";
  spec.tty = TtySize{1, 2};
  return {encode(spec), encode(least)};
}

std::vector<Value> outcome_bodies(bool usage) {
  CapResult good;
  good.outcome.value = Value(Map{{"answer", 42}});
  if (usage) good.usage = Value(Map{{"calls", 1}});
  CapResult bad;
  bad.outcome.error = ErrorMessage{"no", "not this time"};
  return {encode(good), encode(bad)};
}

std::vector<Value> settled_bodies() {
  CallSettled failed;
  failed.failed = CallFailure{"execution_lost", Value(Map{{"why", "helper_down"}})};
  const Value exited(Map{{"outcome", Map{{"exited", exit_body()}}}, {"stopped_by", "cancel"}});
  return {exited, encode(failed)};
}

Value started_body() {
  CallStarted started;
  started.execution = {1'700'000'000'000'000, 3};
  started.policy = Value(Map{{"v", 3}});
  started.narrowings = {Value(Map{{"kind", "env"}, {"wanted", "HOME"}, {"granted", Value()}})};
  return encode(started);
}

}  // namespace

Result<Value> recode(Channel channel, Kind kind, const Value& body) {
  switch (kind) {
    case Kind::kHello:
      return channel == Channel::kExec ? again(decode_exec_hello(body)) : again(decode_hello(body));
    case Kind::kExecStart:
      return again(decode_exec_start(body));
    case Kind::kExecStdin:
      return again(decode_exec_stdin(body));
    case Kind::kExecWinsize:
      return again(decode_exec_winsize(body));
    case Kind::kExecCredit:
      return again(decode_exec_credit(body));
    case Kind::kExecOut:
      return again(decode_exec_out(body));
    case Kind::kExecExit:
      return again(decode_exec_exit(body));
    case Kind::kCancel:
      return again(decode_cancel(body));
    case Kind::kError:
      return again(decode_error(body));
    case Kind::kClearCall:
      return again(decode_call_spec(body));
    case Kind::kCallStarted:
      return again(decode_call_started(body));
    case Kind::kCallRefused:
      return again(decode_call_refused(body));
    case Kind::kCallOutput:
      return again(decode_call_output(body));
    case Kind::kCallSettled:
      return again(decode_call_settled(body));
    case Kind::kCallStdin:
      return again(decode_call_stdin(body));
    case Kind::kCallWinsize:
      return again(decode_call_winsize(body));
    case Kind::kCallCredit:
      return again(decode_call_credit(body));
    case Kind::kCallCancel:
      return again(decode_call_cancel(body));
    case Kind::kCallHook:
      return again(decode_call_hook(body));
    case Kind::kAbortOp:
      return again(decode_abort_op(body));
    case Kind::kAbortStep:
      return again(decode_abort_step(body));
    case Kind::kStop:
      return again(decode_stop(body));
    case Kind::kOk:
      return again(decode_ok(body));
    case Kind::kCapCall:
      return again(decode_cap_call(body));
    case Kind::kCapResult:
      return again(decode_cap_result(body));
    case Kind::kHookCall:
      return again(decode_hook_call(body));
    case Kind::kHookResult:
      return again(decode_hook_result(body));
    case Kind::kShutdown:
    case Kind::kHeartbeat:
    case Kind::kSnapshot:
    case Kind::kCensus:
      return again_empty(kind, body);
  }
  return fail("malformed_frame", "", "no such kind");
}

std::vector<Value> sample_bodies(Channel channel, Kind kind) {
  const Value args(Map{{"deep", Array{1, "two", Binary{"\xff"}}}});
  switch (kind) {
    case Kind::kHello:
      if (channel == Channel::kExec) return {encode(ExecHello{4, "loom-exec/0.1.0", {"namespaces:net=fresh"}, 4})};
      return {encode(Hello{1, "loom-broker/0.1.0", {"sessions"}})};
    case Kind::kExecStart:
      return start_bodies();
    case Kind::kExecStdin:
      return {encode(ExecStdin{7, std::string("abc\0", 4), true})};
    case Kind::kExecWinsize:
      return {encode(ExecWinsize{7, 24, 80})};
    case Kind::kExecCredit:
      return {encode(ExecCredit{7, Stream::kStdin, 2097152})};
    case Kind::kExecOut:
      return {encode(ExecOut{Stream::kStderr, "hi\n", 3, false})};
    case Kind::kExecExit:
      return {exit_body()};
    case Kind::kCancel:
      return {encode(Cancel{7})};
    case Kind::kError:
      return {encode(ErrorMessage{"busy", "all four slots are taken"})};
    case Kind::kClearCall:
      return spec_bodies();
    case Kind::kCallStarted:
      return {started_body()};
    case Kind::kCallRefused:
      return {encode(CallRefused{"policy_refused", Value(Map{}), {Value(Map{{"kind", "env"}, {"value", "HOME"}})}})};
    case Kind::kCallOutput:
      return {encode(CallOutput{Stream::kStdout, "hi\n", 3, true})};
    case Kind::kCallSettled:
      return settled_bodies();
    case Kind::kCallStdin:
      return {encode(CallStdin{7, "abc", false})};
    case Kind::kCallWinsize:
      return {encode(CallWinsize{7, 24, 80})};
    case Kind::kCallCredit:
      return {encode(CallCredit{7, Stream::kStderr, 1})};
    case Kind::kCallCancel:
      return {encode(CallCancel{7, {}}), encode(CallCancel{{}, 9})};
    case Kind::kCallHook:
      return {encode(CallHook{7, "tool", "format", args, 1000})};
    case Kind::kAbortOp:
      return {encode(AbortOp{"op"})};
    case Kind::kAbortStep:
      return {encode(AbortStep{"op", "1"})};
    case Kind::kStop:
      return {encode(Stop{3000}), encode(Stop{})};
    case Kind::kOk:
      return {encode(Ok{Value(Map{{"found", true}})}), encode(Ok{Value(Map{})})};
    case Kind::kCapCall:
      return {encode(CapCall{"token", "exec.run", args, 1000})};
    case Kind::kCapResult:
      return outcome_bodies(true);
    case Kind::kHookCall:
      return {encode(HookCall{"token", "event", "saved", args, 0})};
    case Kind::kHookResult:
      return outcome_bodies(false);
    case Kind::kShutdown:
    case Kind::kHeartbeat:
    case Kind::kSnapshot:
    case Kind::kCensus:
      return {encode_empty()};
  }
  return {};
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  kinds.reserve(kKindCount);
  for (int i = 0; i < kKindCount; ++i) kinds.push_back(static_cast<Kind>(i));
  return kinds;
}

std::string codec_of(Channel channel, Kind kind) {
  switch (kind) {
    case Kind::kHello:
      return channel == Channel::kExec ? "exec_hello" : "hello";
    case Kind::kClearCall:
      return "call_spec";
    case Kind::kShutdown:
    case Kind::kHeartbeat:
    case Kind::kSnapshot:
    case Kind::kCensus:
      return "empty";
    case Kind::kExecStart:
    case Kind::kExecStdin:
    case Kind::kExecWinsize:
    case Kind::kExecCredit:
    case Kind::kExecOut:
    case Kind::kExecExit:
    case Kind::kCancel:
    case Kind::kError:
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
    case Kind::kStop:
    case Kind::kOk:
    case Kind::kCapCall:
    case Kind::kCapResult:
    case Kind::kHookCall:
    case Kind::kHookResult:
      return std::string(to_text(kind));
  }
  return "";
}

}  // namespace loom::test
