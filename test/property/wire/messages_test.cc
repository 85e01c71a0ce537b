// decode(encode(message)) = message, for a message of every kind with anything in its fields.
#include <gtest/gtest.h>

#include "base/version.h"
#include "test/property/wire/gen.h"
#include "test/support/property.h"
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
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_exit.h"
#include "wire/exec_hello.h"
#include "wire/exec_out.h"
#include "wire/exec_start.h"
#include "wire/exec_stdin.h"
#include "wire/exec_winsize.h"
#include "wire/fields.h"
#include "wire/hello.h"
#include "wire/hook_call.h"
#include "wire/hook_result.h"
#include "wire/ok.h"
#include "wire/stop.h"

namespace loom {
namespace {

using test::gen_bytes;
using test::gen_count;
using test::gen_list;
using test::gen_map;
using test::gen_path;
using test::gen_text;
using test::gen_value;

// The message, its encoding through bytes or not, and back.
template <class Message, class Decode>
void goes_through(const Message& message, Decode decode) {
  const auto back = decode(encode(message));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == message);
}

bool flag() {
  return *rc::gen::arbitrary<bool>();
}
std::uint64_t ms() {
  return gen_count() % (kMaxMilliseconds + 1);
}
std::uint32_t window() {
  return static_cast<std::uint32_t>(gen_count() % (kMaxWindow + 1));
}
Stream any_stream() {
  return *rc::gen::element(Stream::kStdin, Stream::kStdout, Stream::kStderr);
}
Stream output_stream() {
  return *rc::gen::element(Stream::kStdout, Stream::kStderr);
}
std::string id_text() {
  std::string id = (gen_text() + "x").substr(0, kMaxIdBytes);
  while (!is_utf8(id)) id.pop_back();
  return id;
}
std::string secret() {
  return gen_bytes() + "t";
}
std::string word(std::initializer_list<const char*> words) {
  return *rc::gen::elementOf(std::vector<std::string>(words.begin(), words.end()));
}
TtySize tty() {
  return {window(), window()};
}

std::vector<std::string> argv() {
  auto list = gen_list(4, gen_path);
  list.push_back(gen_path());
  return list;
}
std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> env;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) env["NAME" + std::to_string(i)] = gen_path();
  return env;
}
ExecExit exec_exit() {
  ExecExit exit;
  exit.code = *rc::gen::arbitrary<std::int64_t>();
  exit.signal = *rc::gen::arbitrary<std::int64_t>();
  exit.stdout_bytes = gen_count();
  exit.stderr_bytes = gen_count();
  exit.stdout_truncated = flag();
  exit.stderr_truncated = flag();
  exit.enforcement = gen_list(4, gen_text);
  exit.degraded = flag();
  exit.wall_ms = gen_count();
  exit.timed_out = flag();
  exit.cancelled = flag();
  return exit;
}
CapOutcome outcome() {
  CapOutcome outcome;
  if (flag()) {
    outcome.value = gen_value(4);
  } else {
    outcome.error = ErrorMessage{gen_text(), gen_text()};
  }
  return outcome;
}

void start_goes_through() {
  ExecStart start;
  start.argv = argv();
  start.env = environment();
  start.cwd = gen_path();
  start.token = secret();
  if (flag()) start.policy = gen_map(4);
  if (flag()) start.limits = Value(Map{{"wall_s", gen_count() >> 1U}, {"pids", 0}});
  if (flag()) start.demand = word({"full", "platform", "best_effort"});
  if (flag()) start.why = word({"calls", "paths"});
  if (flag()) start.tty = tty();
  goes_through(start, [](const Value& body) { return decode_exec_start(body); });
}

void spec_goes_through() {
  CallSpec spec;
  spec.op_id = id_text();
  spec.step_id = id_text();
  spec.argv = argv();
  spec.env = environment();
  if (flag()) spec.cwd = gen_path();
  if (flag()) spec.requirements = gen_map(4);
  spec.grants = gen_list(3, [] { return Value(Map{{"kind", "env"}, {"value", gen_value(2)}}); });
  spec.narrowed = word({"refuse", "proceed"});
  spec.demand = word({"full", "platform", "best_effort"});
  if (flag()) spec.why = word({"calls", "paths"});
  spec.budget = {gen_count() | 1U, ms()};
  spec.waiting_ms = ms();
  spec.deadline_ms = ms();
  spec.wants_stdin = flag();
  spec.session = word({"no", "log", "wire"});
  spec.caps = gen_list(3, gen_text);
  spec.caller = gen_text();
  if (flag()) spec.tty = tty();
  goes_through(spec, [](const Value& body) { return decode_call_spec(body); });
}

TEST(MessageProperties, EveryMessageOfTheExecChannelGoesThrough) {
  test::property("exec_start", start_goes_through);
  test::property("hello", [] {
    goes_through(ExecHello{kExecProto, gen_text(), gen_list(4, gen_text), gen_count() % (kMaxCapacity + 1)},
                 decode_exec_hello);
  });
  test::property("exec_stdin", [] {
    goes_through(ExecStdin{gen_count(), gen_bytes(), flag()},
                 [](const Value& body) { return decode_exec_stdin(body); });
  });
  test::property("exec_winsize", [] {
    goes_through(ExecWinsize{gen_count(), window(), window()}, decode_exec_winsize);
  });
  test::property("exec_credit", [] {
    goes_through(ExecCredit{gen_count(), any_stream(), gen_count()}, decode_exec_credit);
  });
  test::property("exec_out", [] {
    goes_through(ExecOut{output_stream(), gen_bytes(), gen_count(), flag()},
                 [](const Value& body) { return decode_exec_out(body); });
  });
  test::property("exec_exit", [] { goes_through(exec_exit(), decode_exec_exit); });
  test::property("cancel", [] { goes_through(Cancel{gen_count()}, decode_cancel); });
  test::property("error", [] { goes_through(ErrorMessage{gen_text(), gen_text()}, decode_error); });
}

TEST(MessageProperties, EveryMessageOfTheControlChannelGoesThrough) {
  test::property("clear_call", spec_goes_through);
  test::property("hello", [] { goes_through(Hello{kControlProto, gen_text(), gen_list(4, gen_text)}, decode_hello); });
  test::property("call_started", [] {
    goes_through(CallStarted{{gen_count(), gen_count()}, gen_map(4), gen_list(3, [] { return gen_map(2); })},
                 decode_call_started);
  });
  test::property("call_refused", [] {
    goes_through(CallRefused{gen_text(), gen_map(3), gen_list(3, [] { return gen_map(2); })}, decode_call_refused);
  });
  test::property("call_output", [] {
    goes_through(CallOutput{output_stream(), gen_bytes(), gen_count(), flag()},
                 [](const Value& body) { return decode_call_output(body); });
  });
  test::property("call_settled", [] {
    CallSettled settled;
    if (flag()) {
      settled.exited = exec_exit();
    } else {
      settled.failed = CallFailure{gen_text(), gen_map(3)};
    }
    settled.stopped_by =
        word({"none", "wall", "cpu", "deadline", "budget", "cancel", "abort", "caller_gone", "closing"});
    goes_through(settled, decode_call_settled);
  });
  test::property("call_stdin", [] {
    goes_through(CallStdin{gen_count(), gen_bytes(), flag()},
                 [](const Value& body) { return decode_call_stdin(body); });
  });
  test::property("call_winsize", [] {
    goes_through(CallWinsize{gen_count(), window(), window()}, decode_call_winsize);
  });
  test::property("call_credit", [] {
    goes_through(CallCredit{gen_count(), any_stream(), gen_count()}, decode_call_credit);
  });
  test::property("call_cancel", [] {
    goes_through(flag() ? CallCancel{gen_count(), {}} : CallCancel{{}, gen_count()}, decode_call_cancel);
  });
  test::property("call_hook", [] {
    goes_through(CallHook{gen_count(), word({"tool", "event"}), gen_text(), gen_value(4), ms()}, decode_call_hook);
  });
  test::property("abort_op", [] { goes_through(AbortOp{id_text()}, decode_abort_op); });
  test::property("abort_step", [] { goes_through(AbortStep{id_text(), id_text()}, decode_abort_step); });
  test::property("stop", [] { goes_through(flag() ? Stop{ms()} : Stop{}, decode_stop); });
  test::property("ok", [] { goes_through(Ok{gen_map(4)}, decode_ok); });
}

TEST(MessageProperties, EveryMessageOfTheCapabilityChannelGoesThrough) {
  test::property("cap_call", [] { goes_through(CapCall{secret(), gen_text(), gen_value(4), ms()}, decode_cap_call); });
  test::property("cap_result", [] {
    CapResult result{outcome(), {}};
    if (flag()) result.usage = gen_map(2);
    goes_through(result, decode_cap_result);
  });
  test::property("hook_call", [] {
    goes_through(HookCall{secret(), word({"tool", "event"}), gen_text(), gen_value(4), ms()}, decode_hook_call);
  });
  test::property("hook_result", [] { goes_through(HookResult{outcome()}, decode_hook_result); });
}

}  // namespace
}  // namespace loom
