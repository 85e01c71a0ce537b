#include "broker/helper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/version.h"
#include "wire/empty.h"

namespace loom::broker {
namespace {

namespace event = helper_event;
namespace effect = helper_effect;
using Effects = std::vector<HelperEffect>;

template <class T>
const T* find(const Effects& effects) {
  for (const HelperEffect& each : effects) {
    if (const T* found = std::get_if<T>(&each)) return found;
  }
  return nullptr;
}
template <class T>
std::ptrdiff_t count(const Effects& effects) {
  return std::count_if(effects.begin(), effects.end(),
                       [](const HelperEffect& each) { return std::holds_alternative<T>(each); });
}
template <class Message>
const Message* sent(const Effects& effects) {
  for (const HelperEffect& each : effects) {
    const auto* send = std::get_if<effect::Send>(&each);
    if (send == nullptr) continue;
    if (const auto* found = std::get_if<Message>(&send->message)) return found;
  }
  return nullptr;
}

ExecHello hello(std::uint64_t proto = kExecProto, std::uint64_t capacity = 4) {
  return ExecHello{proto, "loom-exec/test", {"namespaces:net=fresh"}, capacity};
}

struct Bench {
  HelperCore core;
  TimePoint now{seconds(100)};

  explicit Bench(bool live = true, bool heartbeat = false) {
    core.heartbeat = heartbeat;
    (void)step(event::Begin{});
    if (live) (void)frame(1, "hello", encode(hello()));
  }
  Effects step(HelperEvent e) { return loom::broker::step(core, std::move(e), now); }
  Effects frame(std::uint64_t id, std::string kind, Value body) {
    return step(event::FrameIn{Frame{id, std::move(kind), std::move(body)}});
  }
  Effects out(StartId id, std::string data, std::uint64_t bytes, bool truncated = false) {
    return frame(id, "exec_out", encode(ExecOut{Stream::kStdout, std::move(data), bytes, truncated}));
  }
  Effects exit(StartId id, std::uint64_t stdout_bytes = 0) {
    ExecExit message;
    message.stdout_bytes = stdout_bytes;
    return frame(id, "exec_exit", encode(message));
  }
  Effects after(Duration d) {
    now += d;
    return step(event::Timer{});
  }
  StartId run() {
    ExecStart request;
    request.argv = {"true"};
    request.cwd = "/";
    request.token = "t";
    auto started = start(core, std::move(request));
    EXPECT_TRUE(started);
    return started ? started->id : 0;
  }
};

const Failure* verdict(const Effects& effects, StartId id) {
  for (const HelperEffect& each : effects) {
    const auto* failed = std::get_if<effect::Failed>(&each);
    if (failed != nullptr && failed->id == id) return &failed->failure;
  }
  return nullptr;
}

// It was told why, has its moment to read that, and is killed then.
bool killed_after_words(Bench& bench, const Effects& told) {
  const bool at_once = find<effect::Kill>(told) != nullptr;
  const bool early = find<effect::Kill>(bench.after(kLastWords - milliseconds(1))) != nullptr;
  return sent<ErrorMessage>(told) != nullptr && !at_once && !early &&
         find<effect::Kill>(bench.after(milliseconds(1))) != nullptr;
}

TEST(Helper, AHelloIsAnsweredAndMakesItLive) {
  Bench bench(false);
  EXPECT_FALSE(start(bench.core, ExecStart{})) << "nothing before hello";
  const Effects effects = bench.frame(7, "hello", encode(hello()));
  ASSERT_NE(sent<ExecHello>(effects), nullptr);
  EXPECT_EQ(sent<ExecHello>(effects)->capacity, 0U);
  EXPECT_NE(find<effect::Ready>(effects), nullptr);
  EXPECT_EQ(bench.core.phase, HelperPhase::kLive);
}

TEST(Helper, AnotherProtocolIsNamedWithBothNumbersAndTheHelperKilled) {
  Bench bench(false);
  const Effects effects = bench.frame(1, "hello", encode(hello(3)));
  ASSERT_NE(sent<ErrorMessage>(effects), nullptr);
  EXPECT_EQ(sent<ErrorMessage>(effects)->code, "proto_mismatch");
  EXPECT_NE(sent<ErrorMessage>(effects)->msg.find('3'), std::string::npos);
  EXPECT_NE(sent<ErrorMessage>(effects)->msg.find('4'), std::string::npos);
  EXPECT_NE(find<effect::NeverLive>(effects), nullptr);
  EXPECT_TRUE(killed_after_words(bench, effects));
}

TEST(Helper, AnythingBeforeHelloIsAViolation) {
  for (const char* kind : {"exec_exit", "heartbeat", "shutdown", "hook_call", "clear_call"}) {
    Bench bench(false);
    const Effects effects = bench.frame(1, kind, encode_empty());
    EXPECT_NE(find<effect::NeverLive>(effects), nullptr) << kind;
    EXPECT_TRUE(killed_after_words(bench, effects)) << kind;
  }
}

TEST(Helper, ASilentOneIsKilledAfterFiveSeconds) {
  Bench bench(false);
  EXPECT_EQ(next_deadline(bench.core), bench.now + seconds(5));
  EXPECT_TRUE(bench.after(milliseconds(4999)).empty());
  const Effects effects = bench.after(milliseconds(1));
  EXPECT_NE(find<effect::NeverLive>(effects), nullptr);
  EXPECT_NE(find<effect::Kill>(effects), nullptr);
}

TEST(Helper, AnUnknownKindIsAnsweredAndTheChannelStays) {
  Bench bench;
  const Effects effects = bench.frame(99, "exec_teleport", encode_empty());
  ASSERT_EQ(effects.size(), 1U);
  const auto& send = std::get<effect::Send>(effects[0]);
  EXPECT_EQ(send.id, 99U);
  EXPECT_EQ(std::get<ErrorMessage>(send.message).code, "unknown_kind");
  EXPECT_EQ(bench.core.phase, HelperPhase::kLive);
}

TEST(Helper, FramesAreRoutedByTheirExecution) {
  Bench bench;
  const StartId one = bench.run();
  const StartId two = bench.run();
  EXPECT_LT(one, two);
  const Effects output = bench.out(two, "abc", 3);
  ASSERT_NE(find<effect::Output>(output), nullptr);
  EXPECT_EQ(find<effect::Output>(output)->id, two);
  const Effects end = bench.exit(one);
  ASSERT_NE(find<effect::Exit>(end), nullptr);
  EXPECT_EQ(find<effect::Exit>(end)->id, one);
  EXPECT_EQ(bench.core.runners.size(), 1U);
}

TEST(Helper, EveryLieAboutAStreamIsAViolationOfThatExecutionAlone) {
  using Lie = Effects (*)(Bench&, StartId);
  const Lie lies[] = {
      [](Bench& b, StartId id) { return b.out(id, "abc", 4); },
      [](Bench& b, StartId id) { return b.out(id, std::string(kInitialCredit + 1, 'x'), kInitialCredit + 1); },
      [](Bench& b, StartId id) {
        (void)b.out(id, "abc", 3, true);
        return b.out(id, "d", 4);
      },
      [](Bench& b, StartId id) {
        (void)b.out(id, "abc", 3);
        return b.exit(id, 2);
      },
      [](Bench& b, StartId id) {
        (void)b.out(id, "abc", 3);
        return b.frame(id, "error", encode(ErrorMessage{"exec_not_found", "no"}));
      },
  };
  for (const Lie lie : lies) {
    Bench bench;
    const StartId liar = bench.run();
    const StartId sibling = bench.run();
    const Effects effects = lie(bench, liar);
    EXPECT_TRUE(killed_after_words(bench, effects));
    EXPECT_EQ(count<effect::Exit>(effects), 0);
    const Effects end = bench.step(event::Exited{true, 9, {}});
    ASSERT_NE(verdict(end, liar), nullptr);
    EXPECT_EQ(verdict(end, liar)->kind, FailureKind::kProtocolViolation);
    ASSERT_NE(find<effect::Down>(end), nullptr);
    EXPECT_EQ(find<effect::Down>(end)->id, sibling);
    EXPECT_TRUE(find<effect::Down>(end)->witnessed);
  }
}

TEST(Helper, AFrameForNoRunningExecutionIsAViolation) {
  for (const char* kind : {"exec_out", "exec_exit"}) {
    Bench bench;
    const StartId ended = bench.run();
    (void)bench.exit(ended);
    const Value body = std::string(kind) == "exec_out" ? encode(ExecOut{}) : encode(ExecExit{});
    const Effects effects = bench.frame(ended, kind, body);
    EXPECT_TRUE(killed_after_words(bench, effects)) << kind;
    EXPECT_EQ(count<effect::Output>(effects) + count<effect::Exit>(effects), 0) << kind;
  }
}

TEST(Helper, CreditMovesTheWindowBothWays) {
  Bench bench;
  const StartId id = bench.run();
  const Effects grant = bench.step(event::GrantOutput{id, Stream::kStdout, kInitialCredit + 5});
  ASSERT_NE(sent<ExecCredit>(grant), nullptr);
  EXPECT_EQ(sent<ExecCredit>(grant)->target, id);
  EXPECT_NE(find<effect::Output>(bench.out(id, std::string(kInitialCredit + 5, 'x'), kInitialCredit + 5)), nullptr);
  const Effects granted = bench.frame(0, "exec_credit", encode(ExecCredit{id, Stream::kStdin, kInitialCredit * 2}));
  ASSERT_NE(find<effect::StdinAllowed>(granted), nullptr);
  EXPECT_EQ(find<effect::StdinAllowed>(granted)->upto, kInitialCredit * 2);
  const Effects unknown = bench.frame(0, "exec_credit", encode(ExecCredit{777, Stream::kStdin, kInitialCredit * 3}));
  EXPECT_TRUE(unknown.empty()) << "late credit is ignored";
}

TEST(Helper, ARefusalIsTheExecutionsOneTerminalFrameAndTheHelperStays) {
  Bench bench;
  const StartId id = bench.run();
  const Effects effects = bench.frame(id, "error", encode(ErrorMessage{"layer_refused", "landlock"}));
  ASSERT_NE(verdict(effects, id), nullptr);
  EXPECT_EQ(*verdict(effects, id), helper_refused("layer_refused", "landlock"));
  EXPECT_EQ(bench.core.phase, HelperPhase::kLive);
}

TEST(Helper, ALostJailMayHaveRun) {
  Bench bench;
  const StartId id = bench.run();
  (void)bench.out(id, "x", 1);
  const Effects effects = bench.frame(id, "error", encode(ErrorMessage{"jail_lost", "init died"}));
  ASSERT_NE(find<effect::Down>(effects), nullptr);
  EXPECT_EQ(bench.core.phase, HelperPhase::kLive);
}

TEST(Helper, AnErrorAboutAControlFrameEndsNothing) {
  Bench bench;
  const StartId id = bench.run();
  const Effects in = bench.step(event::SendStdin{id, "abc", false});
  const auto& send = std::get<effect::Send>(in.at(0));
  EXPECT_NE(send.id, id);
  EXPECT_TRUE(bench.frame(send.id, "error", encode(ErrorMessage{"no_exec", "ended"})).empty());
  EXPECT_EQ(bench.core.runners.size(), 1U);
}

TEST(Helper, ACancelIsSentOnceAndAnIgnoredOneKillsTheHelper) {
  Bench bench;
  const StartId id = bench.run();
  const StartId sibling = bench.run();
  ASSERT_NE(sent<Cancel>(bench.step(event::CancelRun{id})), nullptr);
  EXPECT_TRUE(bench.step(event::CancelRun{id}).empty());
  EXPECT_TRUE(bench.after(milliseconds(2999)).empty());
  const Effects killed = bench.after(milliseconds(1));
  EXPECT_NE(find<effect::Kill>(killed), nullptr);
  EXPECT_EQ(verdict(killed, id), nullptr) << "not before it is witnessed";
  const Effects end = bench.step(event::Exited{true, 9, {}});
  ASSERT_NE(verdict(end, id), nullptr);
  EXPECT_EQ(*verdict(end, id), cancel_escalated());
  ASSERT_NE(find<effect::Down>(end), nullptr);
  EXPECT_EQ(find<effect::Down>(end)->id, sibling);
  EXPECT_NE(find<effect::Proved>(end), nullptr);
}

TEST(Helper, AnEscalationThatNobodyWitnessesIsALoss) {
  Bench bench;
  const StartId id = bench.run();
  (void)bench.step(event::CancelRun{id});
  (void)bench.after(seconds(3));
  const Effects late = bench.after(seconds(2));
  EXPECT_EQ(verdict(late, id), nullptr);
  ASSERT_NE(find<effect::Down>(late), nullptr);
  EXPECT_FALSE(find<effect::Down>(late)->witnessed);
  EXPECT_NE(find<effect::Unproved>(late), nullptr);
  const Effects found = bench.step(event::Exited{true, 9, {}});
  EXPECT_NE(find<effect::Proved>(found), nullptr) << "a late status is still a proof";
  EXPECT_EQ(count<effect::Down>(found), 0) << "and settles nothing twice";
}

TEST(Helper, ItsEndIsProvedOnlyWhenWhatItLeftIsReaped) {
  Bench bench;
  (void)bench.run();
  const Effects end = bench.step(event::Exited{true, 9, {41, 42}});
  EXPECT_EQ(count<effect::KillOrphan>(end), 2);
  EXPECT_EQ(count<effect::Proved>(end), 0);
  EXPECT_EQ(count<effect::Proved>(bench.step(event::OrphanGone{41})), 0);
  EXPECT_EQ(count<effect::Proved>(bench.step(event::OrphanGone{42})), 1);
}

TEST(Helper, AnOrphanThatOutlivesTheWitnessLeavesItUnconfirmedUntilItIsReaped) {
  Bench bench;
  (void)bench.step(event::Exited{false, 0, {41}});
  const Effects late = bench.after(seconds(2));
  ASSERT_NE(find<effect::Unproved>(late), nullptr);
  EXPECT_NE(find<effect::Proved>(bench.step(event::OrphanGone{41})), nullptr);
}

TEST(Helper, BehindACarrierOnlyAJoinedOrIdleEndIsAProof) {
  struct Case {
    bool shutdown, work;
    int status;
    bool proved;
  };
  for (const Case& c : {Case{true, true, 0, true}, Case{true, true, 1, false}, Case{false, true, 0, false},
                        Case{false, false, 255, true}}) {
    Bench bench;
    bench.core.local = false;
    if (c.work) (void)bench.run();
    if (c.shutdown) (void)bench.step(event::Retire{});
    const Effects end = bench.step(event::Exited{false, c.status, {}});
    EXPECT_EQ(find<effect::Proved>(end) != nullptr, c.proved);
    EXPECT_EQ(find<effect::Unproved>(end) != nullptr, !c.proved);
  }
}

TEST(Helper, AShutdownThatIsNotObeyedEndsInAKill) {
  Bench bench;
  ASSERT_NE(sent<Shutdown>(bench.step(event::Retire{})), nullptr);
  EXPECT_TRUE(bench.step(event::Retire{}).empty());
  EXPECT_FALSE(start(bench.core, ExecStart{}));
  EXPECT_NE(find<effect::Kill>(bench.after(seconds(3))), nullptr);
  EXPECT_NE(find<effect::Unproved>(bench.after(seconds(2))), nullptr);
}

TEST(Helper, AnOrdinaryRetirementIsNoDeathToBeReported) {
  Bench bench;
  (void)bench.step(event::Retire{});
  EXPECT_TRUE(bench.step(event::Eof{}).empty());
  const Effects end = bench.step(event::Exited{false, 0, {}});
  ASSERT_NE(find<effect::Died>(end), nullptr);
  EXPECT_TRUE(find<effect::Died>(end)->asked);
  EXPECT_NE(find<effect::Proved>(end), nullptr);
}

TEST(Helper, ACrashIsTakenForWhatItWasThoughItsOutputEndsFirst) {
  Bench bench;
  const StartId id = bench.run();
  EXPECT_NE(find<effect::Leaving>(bench.step(event::Eof{})), nullptr);
  const Effects end = bench.step(event::Exited{true, 11, {}});
  ASSERT_NE(find<effect::Down>(end), nullptr);
  EXPECT_EQ(find<effect::Down>(end)->id, id);
}

TEST(Helper, AClosedOutputWithALivingHelperIsAClosedChannel) {
  Bench bench;
  const StartId id = bench.run();
  (void)bench.step(event::Eof{});
  EXPECT_NE(find<effect::Kill>(bench.after(kEofGrace)), nullptr);
  const Effects end = bench.step(event::Exited{true, 9, {}});
  ASSERT_NE(verdict(end, id), nullptr);
  EXPECT_EQ(verdict(end, id)->kind, FailureKind::kChannelClosed);
}

TEST(Helper, ACrashInsideAFrameIsACrash) {
  Bench bench;
  (void)bench.run();
  const Effects fault = bench.step(event::Fault{Error{"malformed_frame", "", "ended inside a frame", ""}, true});
  EXPECT_NE(find<effect::Leaving>(fault), nullptr);
  EXPECT_EQ(find<effect::Kill>(fault), nullptr);
  EXPECT_NE(find<effect::Down>(bench.step(event::Exited{true, 9, {}})), nullptr);
}

TEST(Helper, AFrameCutShortByALivingHelperClosesTheChannel) {
  Bench bench;
  const StartId id = bench.run();
  (void)bench.step(event::Fault{Error{"malformed_frame", "", "ended inside a frame", ""}, true});
  EXPECT_NE(find<effect::Kill>(bench.after(kEofGrace)), nullptr);
  const Effects end = bench.step(event::Exited{true, 9, {}});
  ASSERT_NE(verdict(end, id), nullptr);
  EXPECT_EQ(*verdict(end, id), channel_closed("malformed_frame: ended inside a frame"));
}

TEST(Helper, BytesThatAreNoFramesCloseTheChannelForAll) {
  Bench bench;
  const StartId one = bench.run();
  const StartId two = bench.run();
  const Effects fault = bench.step(event::Fault{Error{"malformed_frame", "", "length 9 over 8", ""}, false});
  ASSERT_NE(sent<ErrorMessage>(fault), nullptr);
  EXPECT_TRUE(killed_after_words(bench, fault));
  const Effects end = bench.step(event::Exited{true, 9, {}});
  for (const StartId id : {one, two}) {
    ASSERT_NE(verdict(end, id), nullptr);
    EXPECT_EQ(verdict(end, id)->kind, FailureKind::kChannelClosed);
  }
}

TEST(Helper, ABodyThatDoesNotDecodeIsAnsweredUnderItsIdAndClosed) {
  Bench bench;
  const StartId id = bench.run();
  const Effects fault = bench.frame(id, "exec_out", Map{{"stream", "stdin"}, {"data", Binary{}}});
  ASSERT_FALSE(fault.empty());
  EXPECT_EQ(std::get<effect::Send>(fault[0]).id, id);
  EXPECT_EQ(sent<ErrorMessage>(fault)->code, "malformed_frame");
  EXPECT_TRUE(killed_after_words(bench, fault));
}

TEST(Helper, AHeartbeatIsAskedForAndMissedOnes) {
  Bench bench(true, true);
  const Effects beat = bench.after(seconds(15));
  ASSERT_NE(sent<Heartbeat>(beat), nullptr);
  const std::uint64_t id = std::get<effect::Send>(beat[0]).id;
  EXPECT_TRUE(bench.frame(id, "heartbeat", encode_empty()).empty());
  EXPECT_NE(sent<Heartbeat>(bench.after(seconds(15))), nullptr);
  EXPECT_NE(find<effect::Kill>(bench.after(seconds(5))), nullptr);
}

TEST(Helper, AnEchoOfNothingIsAViolation) {
  Bench bench(true, true);
  const Effects told = bench.frame(5, "heartbeat", encode_empty());
  EXPECT_TRUE(killed_after_words(bench, told));
}

TEST(Helper, AFailedSpawnIsOverAtOnce) {
  Bench bench(false);
  const Effects effects = bench.step(event::SpawnFailed{"no such file"});
  EXPECT_NE(find<effect::NeverLive>(effects), nullptr);
  EXPECT_NE(find<effect::Proved>(effects), nullptr);
  EXPECT_EQ(find<effect::Kill>(effects), nullptr);
}

TEST(Helper, ADeadOneIsDeaf) {
  Bench bench;
  const StartId id = bench.run();
  (void)bench.step(event::Fault{Error{"malformed_frame", "", "x", ""}, false});
  EXPECT_TRUE(bench.exit(id).empty());
  EXPECT_TRUE(bench.out(id, "x", 1).empty());
  EXPECT_TRUE(bench.step(event::CancelRun{id}).empty());
  EXPECT_TRUE(bench.step(event::Retire{}).empty());
  EXPECT_TRUE(bench.step(event::Eof{}).empty());
}

}  // namespace
}  // namespace loom::broker
