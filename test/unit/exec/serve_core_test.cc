// The exec channel's decisions, frame by frame (spec/wire.md "Exec channel", "Faults").
#include "helper/serve_core.h"

#include <gtest/gtest.h>

#include "base/version.h"
#include "policy/decode.h"
#include "wire/cancel.h"
#include "wire/empty.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_hello.h"
#include "wire/exec_start.h"
#include "wire/exec_stdin.h"
#include "wire/exec_winsize.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

TimePoint at(std::int64_t ms) {
  return TimePoint(milliseconds(ms));
}

Policy base_policy() {
  Policy policy;
  policy.writable_roots = {"/ws"};
  policy.readable_roots = {"/ws"};
  policy.limits.pids = 100;
  policy.limits.wall_s = 60;
  return policy;
}

class Channel {
 public:
  explicit Channel(unsigned capacity = 4) : core_(settings(capacity)) {}
  static ServeSettings settings(unsigned capacity) {
    ServeSettings out;
    out.peer = "loom-exec/test";
    out.features = {"namespaces"};
    out.capacity = capacity;
    out.base = base_policy();
    return out;
  }

  ServeEffects give(ServeEvent event, std::int64_t ms = 0) { return core_.step(std::move(event), at(ms)); }
  ServeEffects frame(std::uint64_t id, Kind kind, Value body) {
    return give(event::FrameIn{Frame{id, std::string(to_text(kind)), std::move(body)}});
  }
  ServeEffects hello(std::uint64_t proto = kExecProto) {
    return frame(0, Kind::kHello, encode(ExecHello{proto, "loom-broker/test", {}, 0}));
  }
  Channel& opened() {
    (void)give(event::Opened{});
    EXPECT_TRUE(hello().empty());
    return *this;
  }
  static ExecStart true_start() {
    ExecStart start;
    start.argv = {"true"};
    start.cwd = "/ws";
    start.token = "t";
    return start;
  }
  ServeEffects start(std::uint64_t id, const ExecStart& what = true_start()) {
    return frame(id, Kind::kExecStart, encode(what));
  }
  ServeCore& core() { return core_; }

 private:
  ServeCore core_;
};

template <class T>
std::vector<T> all(const ServeEffects& effects) {
  std::vector<T> out;
  for (const auto& effect : effects) {
    if (const auto* found = std::get_if<T>(&effect)) out.push_back(*found);
  }
  return out;
}

struct Answer {
  std::uint64_t id = 0;
  std::string code;
  std::string msg;
};
std::vector<Answer> errors(const ServeEffects& effects) {
  std::vector<Answer> out;
  for (const auto& send : all<effect::Send>(effects)) {
    if (send.kind != Kind::kError) continue;
    const auto body = decode_error(send.body);
    EXPECT_TRUE(body);
    out.push_back(Answer{send.id, body->code, body->msg});
  }
  return out;
}

void expect_error(const ServeEffects& effects, std::uint64_t id, const std::string& code) {
  const auto found = errors(effects);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, id) << found[0].msg;
  EXPECT_EQ(found[0].code, code) << found[0].msg;
}

void expect_closed(const ServeEffects& effects) {
  EXPECT_EQ(all<effect::CloseChannel>(effects).size(), 1U);
}
void expect_stays(const ServeEffects& effects) {
  EXPECT_TRUE(all<effect::CloseChannel>(effects).empty());
  EXPECT_TRUE(all<effect::Finish>(effects).empty());
}
void expect_finish(const ServeEffects& effects, int status) {
  const auto found = all<effect::Finish>(effects);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].status, status);
}

TEST(ServeCore, TheHelperSpeaksFirstWithItsFeaturesAndCapacity) {
  Channel channel(3);
  const auto sends = all<effect::Send>(channel.give(event::Opened{}));
  ASSERT_EQ(sends.size(), 1U);
  const auto hello = decode_exec_hello(sends[0].body);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->proto, kExecProto);
  EXPECT_EQ(hello->capacity, 3U);
  EXPECT_EQ(hello->features, std::vector<std::string>{"namespaces"});
}

TEST(ServeCore, EveryKindBeforeHelloButHelloAndErrorIsAViolationThatNamesIt) {
  for (int k = 0; k < kKindCount; ++k) {
    const Kind kind = static_cast<Kind>(k);
    if (kind == Kind::kHello || kind == Kind::kError) continue;
    Channel channel;
    (void)channel.give(event::Opened{});
    const auto effects = channel.frame(1, kind, Map{});
    expect_error(effects, 0, "protocol_violation");
    EXPECT_NE(errors(effects)[0].msg.find(to_text(kind)), std::string::npos);
    expect_closed(effects);
    expect_finish(effects, 1);
  }
}

TEST(ServeCore, EveryKindIsAskedOfTheTableBeforeItsBodyIsLookedAt) {
  for (int k = 0; k < kKindCount; ++k) {
    const Kind kind = static_cast<Kind>(k);
    Channel channel;
    const auto effects = channel.opened().frame(1, kind, Map{{"no such key", true}});
    const auto found = errors(effects);
    ASSERT_EQ(found.size(), 1U) << to_text(kind);
    const bool allowed =
        permission(loom::Channel::kExec, kind, Receiver::kHelper, Phase::kOpen) == Permission::kAllowed;
    EXPECT_EQ(found[0].code, allowed ? "malformed_frame" : "protocol_violation") << to_text(kind);
    EXPECT_EQ(found[0].id, allowed ? 1U : 0U) << to_text(kind);
    expect_closed(effects);
  }
}

TEST(ServeCore, AnUnknownKindIsAnsweredUnderItsOwnIdAndTheChannelStays) {
  Channel channel;
  const auto effects = channel.opened().give(event::FrameIn{Frame{9, "teleport", Map{}}});
  expect_error(effects, 9, "unknown_kind");
  expect_stays(effects);
}

TEST(ServeCore, AnUnknownKindIsGivenBackWithABoundAndWholeCharacters) {
  Channel channel;
  std::string kind;
  for (int i = 0; i < 1000; ++i) kind += "\xc3\xa9";
  const auto found = errors(channel.opened().give(event::FrameIn{Frame{9, "x" + kind, Map{}}}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LT(found[0].msg.size(), 100U);
  EXPECT_TRUE(is_utf8(found[0].msg));
}

TEST(ServeCore, AnotherProtocolIsNamedWithBothNumbersAndWhoIsBehind) {
  Channel channel;
  (void)channel.give(event::Opened{});
  const auto effects = channel.hello(kExecProto + 1);
  expect_error(effects, 0, "proto_mismatch");
  const std::string msg = errors(effects)[0].msg;
  EXPECT_NE(msg.find(std::to_string(kExecProto)), std::string::npos) << msg;
  EXPECT_NE(msg.find(std::to_string(kExecProto + 1)), std::string::npos) << msg;
  EXPECT_NE(msg.find("behind"), std::string::npos) << msg;
  expect_closed(effects);
  expect_finish(effects, 1);
}

TEST(ServeCore, AHelloThatDoesNotComeWithinFiveSecondsClosesTheChannel) {
  Channel channel;
  (void)channel.give(event::Opened{}, 0);
  EXPECT_EQ(channel.core().next_deadline(), at(5000));
  expect_stays(channel.give(event::Tick{}, 4999));
  const auto effects = channel.give(event::Tick{}, 5000);
  expect_error(effects, 0, "protocol_violation");
  expect_finish(effects, 1);
}

TEST(ServeCore, AFrameMustBeCompleteThirtySecondsAfterItsFirstByte) {
  Channel channel;
  channel.opened();
  (void)channel.give(event::PartialFrame{}, 1000);
  (void)channel.give(event::PartialFrame{}, 20000);
  EXPECT_EQ(channel.core().next_deadline(), at(31000)) << "later bytes of the same frame do not move it";
  const auto effects = channel.give(event::Tick{}, 31000);
  expect_error(effects, 0, "malformed_frame");
  expect_finish(effects, 1);
}

TEST(ServeCore, ACompleteFrameStopsItsClock) {
  Channel channel;
  channel.opened();
  (void)channel.give(event::PartialFrame{}, 1000);
  (void)channel.frame(1, Kind::kHeartbeat, encode_empty());
  EXPECT_EQ(channel.core().next_deadline(), std::nullopt);
}

TEST(ServeCore, AHeartbeatIsEchoedWithItsId) {
  Channel channel;
  const auto sends = all<effect::Send>(channel.opened().frame(77, Kind::kHeartbeat, encode_empty()));
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends[0].kind, Kind::kHeartbeat);
  EXPECT_EQ(sends[0].id, 77U);
}

TEST(ServeCore, AStartCarriesTheBasePolicyAndOneWindowForEachStream) {
  Channel channel;
  const auto effects = channel.opened().start(7);
  const auto starts = all<effect::Start>(effects);
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].id, 7U);
  EXPECT_EQ(starts[0].request.policy, base_policy());
  EXPECT_EQ(starts[0].request.demand, Demand::kPlatform);
  const auto allowed = all<effect::AllowOutput>(effects);
  ASSERT_EQ(allowed.size(), 2U);
  EXPECT_EQ(allowed[0].upto, kMiB);
  EXPECT_EQ(allowed[1].upto, kMiB);
}

TEST(ServeCore, ItsOwnPolicyOverridesTheBase) {
  Channel channel;
  ExecStart start = Channel::true_start();
  Policy own = base_policy();
  own.limits.pids = 3;
  start.policy = encode_policy(own);
  start.demand = "full";
  const auto starts = all<effect::Start>(channel.opened().start(1, start));
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].request.policy.limits.pids, 3U);
  EXPECT_EQ(starts[0].request.demand, Demand::kFull);
}

TEST(ServeCore, LimitsTightenAndNeverWiden) {
  Limits policy;
  policy.pids = 100;
  policy.wall_s = 60;
  Limits asked;
  asked.pids = 200;     // wider: the policy's stays
  asked.wall_s = 10;    // tighter
  asked.mem_bytes = 5;  // the policy has none
  const Limits out = tighten(policy, asked);
  EXPECT_EQ(out.pids, 100U);
  EXPECT_EQ(out.wall_s, 10U);
  EXPECT_EQ(out.mem_bytes, 5U);
  EXPECT_EQ(tighten(policy, Limits{}), policy) << "0 leaves the policy's";
}

TEST(ServeCore, LimitsOfAStartReachTheRequest) {
  Channel channel;
  ExecStart start = Channel::true_start();
  start.limits =
      Map{{"cpu_s", 0}, {"wall_s", 5}, {"mem_bytes", 0}, {"pids", 500}, {"fsize_bytes", 9}, {"output_bytes", 0}};
  const auto starts = all<effect::Start>(channel.opened().start(1, start));
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].request.policy.limits.wall_s, 5U);
  EXPECT_EQ(starts[0].request.policy.limits.pids, 100U);
  EXPECT_EQ(starts[0].request.policy.limits.fsize_bytes, 9U);
}

TEST(ServeCore, ABadPolicyIsThatStartsEndAndTheChannelStays) {
  Channel channel;
  ExecStart start = Channel::true_start();
  start.policy = Map{{"v", 3}, {"surprise", true}};
  const auto effects = channel.opened().start(4, start);
  expect_error(effects, 4, "bad_policy");
  EXPECT_TRUE(all<effect::Start>(effects).empty());
  expect_stays(effects);
  EXPECT_EQ(all<effect::Start>(channel.start(5)).size(), 1U);
}

TEST(ServeCore, WithoutABasePolicyAStartMustBringItsOwn) {
  ServeSettings settings = Channel::settings(1);
  settings.base.reset();
  ServeCore core(settings);
  (void)core.step(event::Opened{}, at(0));
  (void)core.step(event::FrameIn{Frame{0, "hello", encode(ExecHello{kExecProto, "p", {}, 0})}}, at(0));
  ExecStart start = Channel::true_start();
  expect_error(core.step(event::FrameIn{Frame{1, "exec_start", encode(start)}}, at(0)), 1, "bad_policy");
  start.policy = encode_policy(base_policy());
  EXPECT_EQ(all<effect::Start>(core.step(event::FrameIn{Frame{2, "exec_start", encode(start)}}, at(0))).size(), 1U);
}

TEST(ServeCore, WhyReachesTheExecutionAndNothingIsTakenForItThatItIsNot) {
  const std::pair<const char*, Why> known[] = {{"calls", Why::kCalls}, {"paths", Why::kPaths}};
  for (const auto& [text, why] : known) {
    Channel channel;
    ExecStart start = Channel::true_start();
    start.why = text;
    const auto starts = all<effect::Start>(channel.opened().start(1, start));
    ASSERT_EQ(starts.size(), 1U);
    EXPECT_EQ(starts[0].request.why, why);
  }
}

TEST(ServeCore, ARepeatedStartIdIsMalformedWithIdZero) {
  for (const std::uint64_t again : {7U, 6U, 0U}) {
    Channel channel;
    (void)channel.opened().start(7);
    const auto effects = channel.start(again);
    expect_error(effects, 0, "malformed_frame");
    expect_closed(effects);
    EXPECT_EQ(all<effect::CancelExecution>(effects).size(), 1U) << "what runs is cancelled";
    EXPECT_TRUE(all<effect::Finish>(effects).empty()) << "and joined first";
    expect_finish(channel.give(event::Exited{7, {}}), 1);
  }
}

TEST(ServeCore, OneMoreThanTheCapacityIsBusyUntilOneIsReaped) {
  Channel channel(1);
  (void)channel.opened().start(1);
  const auto busy = channel.start(2);
  expect_error(busy, 2, "busy");
  expect_stays(busy);
  (void)channel.give(event::Exited{1, {}});
  EXPECT_EQ(all<effect::Start>(channel.start(3)).size(), 1U) << "who reads exec_exit may start again at once";
}

TEST(ServeCore, ARefusedStartHoldsNoCapacity) {
  Channel channel(1);
  (void)channel.opened().start(1);
  expect_error(channel.give(event::Failed{1, Error{"exec_not_found", "nope", "no such program", {}}}), 1,
               "exec_not_found");
  EXPECT_EQ(all<effect::Start>(channel.start(2)).size(), 1U);
}

TEST(ServeCore, ExitReportsTheBytesThatWereSent) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.give(event::Output{1, Stream::kStdout, 10, false});
  (void)channel.give(event::Output{1, Stream::kStdout, 5, true});
  (void)channel.give(event::Output{1, Stream::kStderr, 3, false});
  ExecExit exit;
  exit.code = 7;
  exit.stdout_bytes = 999;
  const auto sends = all<effect::Send>(channel.give(event::Exited{1, exit}));
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends[0].id, 1U);
  const auto told = decode_exec_exit(sends[0].body);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, 7);
  EXPECT_EQ(told->stdout_bytes, 15U);
  EXPECT_TRUE(told->stdout_truncated);
  EXPECT_EQ(told->stderr_bytes, 3U);
  EXPECT_FALSE(told->stderr_truncated);
}

TEST(ServeCore, OutputIsAllowedAsFarAsThePeerGrantsAndTheTransportTakes) {
  Channel channel;
  (void)channel.opened().start(1);
  EXPECT_TRUE(channel.frame(2, Kind::kExecCredit, encode(ExecCredit{1, Stream::kStdout, 64 * kMiB})).empty())
      << "a peer that grants without reading costs one window";
  (void)channel.give(event::Output{1, Stream::kStdout, kMiB, false});
  const auto allowed = all<effect::AllowOutput>(channel.give(event::Written{1, Stream::kStdout, kMiB}));
  ASSERT_EQ(allowed.size(), 1U);
  EXPECT_EQ(allowed[0].upto, 2 * kMiB);
}

TEST(ServeCore, WithoutCreditFromThePeerNothingMoreIsAllowed) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.give(event::Output{1, Stream::kStdout, kMiB, false});
  EXPECT_TRUE(all<effect::AllowOutput>(channel.give(event::Written{1, Stream::kStdout, kMiB})).empty());
  EXPECT_EQ(
      all<effect::AllowOutput>(channel.frame(2, Kind::kExecCredit, encode(ExecCredit{1, Stream::kStdout, kMiB + 5})))
          .size(),
      1U);
  EXPECT_TRUE(channel.frame(3, Kind::kExecCredit, encode(ExecCredit{1, Stream::kStdout, 3})).empty())
      << "credit never goes back";
}

TEST(ServeCore, StdinIsPassedOnAndCreditComesAsTheCommandReads) {
  Channel channel;
  (void)channel.opened().start(1);
  const std::string half(kMiB / 2, 'x');
  const auto writes = all<effect::WriteStdin>(channel.frame(2, Kind::kExecStdin, encode(ExecStdin{1, half, false})));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].data, half);
  EXPECT_TRUE(channel.give(event::StdinConsumed{1, 10}).empty()) << "not a frame for every few bytes";
  const auto sends = all<effect::Send>(channel.give(event::StdinConsumed{1, kMiB / 2}));
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends[0].kind, Kind::kExecCredit);
  const auto credit = decode_exec_credit(sends[0].body);
  ASSERT_TRUE(credit);
  EXPECT_EQ(credit->target, 1U);
  EXPECT_EQ(credit->stream, Stream::kStdin);
  EXPECT_EQ(credit->upto, kMiB + kMiB / 2);
}

TEST(ServeCore, StdinPastTheCreditIsAViolation) {
  Channel channel;
  (void)channel.opened().start(1);
  EXPECT_EQ(errors(channel.frame(2, Kind::kExecStdin, encode(ExecStdin{1, std::string(kMiB, 'x'), false}))).size(), 0U);
  const auto effects = channel.frame(3, Kind::kExecStdin, encode(ExecStdin{1, "y", false}));
  expect_error(effects, 0, "protocol_violation");
  expect_closed(effects);
}

TEST(ServeCore, StdinAfterItsEndIsAViolationButASecondEndIsNot) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.frame(2, Kind::kExecStdin, encode(ExecStdin{1, "", true}));
  EXPECT_TRUE(channel.frame(3, Kind::kExecStdin, encode(ExecStdin{1, "", true})).empty());
  expect_error(channel.frame(4, Kind::kExecStdin, encode(ExecStdin{1, "x", false})), 0, "protocol_violation");
}

TEST(ServeCore, StdinForAnExecutionThatIsNotThereIsNoExecUnderItsOwnId) {
  Channel channel;
  const auto effects = channel.opened().frame(9, Kind::kExecStdin, encode(ExecStdin{1, "x", false}));
  expect_error(effects, 9, "no_exec");
  expect_stays(effects);
}

TEST(ServeCore, CancelCreditAndWinsizeForAnExecutionThatIsNotThereAreIgnored) {
  Channel channel;
  channel.opened();
  EXPECT_TRUE(channel.frame(1, Kind::kCancel, encode(Cancel{5})).empty());
  EXPECT_TRUE(channel.frame(2, Kind::kExecCredit, encode(ExecCredit{5, Stream::kStdout, 5})).empty());
  EXPECT_TRUE(channel.frame(3, Kind::kExecWinsize, encode(ExecWinsize{5, 1, 1})).empty());
}

TEST(ServeCore, CreditForStdinIsTheHelpersToGive) {
  Channel channel;
  (void)channel.opened().start(1);
  expect_error(channel.frame(2, Kind::kExecCredit, encode(ExecCredit{1, Stream::kStdin, 5})), 0, "protocol_violation");
}

TEST(ServeCore, CancelReachesTheExecutionEachTime) {
  Channel channel;
  (void)channel.opened().start(1);
  EXPECT_EQ(all<effect::CancelExecution>(channel.frame(2, Kind::kCancel, encode(Cancel{1}))).size(), 1U);
  EXPECT_EQ(all<effect::CancelExecution>(channel.frame(3, Kind::kCancel, encode(Cancel{1}))).size(), 1U);
}

TEST(ServeCore, AWindowSizeReachesOnlyAnExecutionWithATerminal) {
  Channel channel;
  ExecStart with = Channel::true_start();
  with.tty = TtySize{24, 80};
  (void)channel.opened().start(1, with);
  (void)channel.start(2);
  EXPECT_EQ(all<effect::Resize>(channel.frame(3, Kind::kExecWinsize, encode(ExecWinsize{1, 5, 6}))).size(), 1U);
  EXPECT_TRUE(channel.frame(4, Kind::kExecWinsize, encode(ExecWinsize{2, 5, 6})).empty());
}

TEST(ServeCore, ShutdownCancelsAndJoinsEveryJailThenLeavesWithZero) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.start(2);
  const auto effects = channel.frame(9, Kind::kShutdown, encode_empty());
  EXPECT_EQ(all<effect::CancelExecution>(effects).size(), 2U);
  expect_stays(effects);
  const auto one = channel.give(event::Exited{1, {}});
  EXPECT_EQ(all<effect::Send>(one).size(), 1U) << "its end is still told";
  EXPECT_TRUE(all<effect::Finish>(one).empty());
  expect_finish(channel.give(event::Exited{2, {}}), 0);
}

TEST(ServeCore, AStartAfterShutdownIsAViolation) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.frame(2, Kind::kShutdown, encode_empty());
  const auto effects = channel.start(3);
  expect_error(effects, 0, "protocol_violation");
  expect_finish(channel.give(event::Exited{1, {}}), 1);
}

TEST(ServeCore, AStartThatCrossesOurOwnClosingIsRefusedAndNoViolation) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.give(event::Terminate{});
  const auto effects = channel.start(2);
  expect_error(effects, 2, "spawn_failed");
  expect_stays(effects);
  expect_finish(channel.give(event::Exited{1, {}}), 0);
}

TEST(ServeCore, EndOfInputBetweenFramesIsAShutdownAtAnyTime) {
  Channel before;
  (void)before.give(event::Opened{});
  expect_finish(before.give(event::InputEnded{false}), 0);
  Channel idle;
  expect_finish(idle.opened().give(event::InputEnded{false}), 0);
  Channel running;
  (void)running.opened().start(1);
  EXPECT_EQ(all<effect::CancelExecution>(running.give(event::InputEnded{false})).size(), 1U);
  expect_finish(running.give(event::Exited{1, {}}), 0);
}

TEST(ServeCore, EndOfInputInsideAFrameIsMalformedAndLeavesWithOne) {
  Channel channel;
  (void)channel.opened().start(1);
  const auto effects = channel.give(event::InputEnded{true});
  expect_error(effects, 0, "malformed_frame");
  EXPECT_EQ(all<effect::CancelExecution>(effects).size(), 1U);
  expect_finish(channel.give(event::Exited{1, {}}), 1);
}

TEST(ServeCore, EndOfInputInsideAFrameAfterShutdownStillLeavesWithOne) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.frame(2, Kind::kShutdown, encode_empty());
  expect_error(channel.give(event::InputEnded{true}), 0, "malformed_frame");
  expect_finish(channel.give(event::Exited{1, {}}), 1);
}

TEST(ServeCore, AClosedOutputIsAShutdownWithoutWords) {
  Channel channel;
  (void)channel.opened().start(1);
  const auto effects = channel.give(event::OutputClosed{});
  EXPECT_TRUE(all<effect::Send>(effects).empty());
  EXPECT_EQ(all<effect::CancelExecution>(effects).size(), 1U);
  const auto end = channel.give(event::Exited{1, {}});
  EXPECT_TRUE(all<effect::Send>(end).empty());
  expect_finish(end, 0);
}

TEST(ServeCore, AfterAFaultNothingIsReadAnyMore) {
  Channel channel;
  (void)channel.opened().start(1);
  (void)channel.give(event::Malformed{Error{"malformed_frame", {}, "nonsense", {}}});
  EXPECT_TRUE(channel.start(2).empty());
  EXPECT_TRUE(channel.frame(3, Kind::kHeartbeat, encode_empty()).empty());
  EXPECT_TRUE(channel.give(event::Malformed{Error{"malformed_frame", {}, "again", {}}}).empty());
  EXPECT_TRUE(channel.give(event::Output{1, Stream::kStdout, 10, false}).empty());
  EXPECT_TRUE(channel.give(event::StdinConsumed{1, 2 * kMiB}).empty());
  expect_finish(channel.give(event::Exited{1, {}}), 1);
}

TEST(ServeCore, EventsOfAnExecutionThatIsNotThereAreIgnored) {
  Channel channel;
  channel.opened();
  EXPECT_TRUE(channel.give(event::Output{3, Stream::kStdout, 1, false}).empty());
  EXPECT_TRUE(channel.give(event::Written{3, Stream::kStdout, 1}).empty());
  EXPECT_TRUE(channel.give(event::StdinConsumed{3, 2 * kMiB}).empty());
  EXPECT_TRUE(channel.give(event::Exited{3, {}}).empty());
  EXPECT_TRUE(channel.give(event::Failed{3, {}}).empty());
}

}  // namespace
}  // namespace loom::helper
