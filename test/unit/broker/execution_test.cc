#include "broker/execution.h"

#include <gtest/gtest.h>

#include <utility>

namespace loom::broker {
namespace {

namespace event = execution_event;
namespace effect = execution_effect;

ExecutionCore relay(Demand demand = Demand::kBestEffort, const Policy& policy = {}) {
  ExecutionCore core;
  core.expected = expectation_of(policy, {}, demand);
  return core;
}

const Settlement* settled(const std::vector<ExecutionEffect>& effects) {
  if (effects.size() != 1) return nullptr;
  const auto* settle = std::get_if<effect::Settle>(&effects.front());
  return settle == nullptr ? nullptr : &settle->settlement;
}

ExecExit cut_short() {
  ExecExit exit;
  exit.code = 143;
  exit.signal = 15;
  exit.cancelled = true;
  return exit;
}

TEST(Execution, OutputIsDeliveredInBothModes) {
  ExecutionCore core = relay();
  const auto first = step(core, event::Output{{Stream::kStdout, "a", 1, false}});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(std::get<effect::Deliver>(first[0]).out.data, "a");
  (void)step(core, event::CancelRequested{});
  EXPECT_EQ(step(core, event::Output{{Stream::kStdout, "b", 2, false}}).size(), 1U);
}

TEST(Execution, ACancelIsSentOnceWhateverElseAsksForIt) {
  ExecutionCore core = relay();
  const auto first = step(core, event::CancelRequested{StopCause::kAbort});
  ASSERT_EQ(first.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<effect::SendCancel>(first[0]));
  EXPECT_TRUE(std::holds_alternative<effect::EnterDraining>(first[1]));
  EXPECT_TRUE(step(core, event::CancelRequested{}).empty());
  EXPECT_TRUE(step(core, event::DeadlineReached{}).empty());
  EXPECT_TRUE(step(core, event::CallerDown{}).empty());
  const auto end = step(core, event::Exited{cut_short()});
  ASSERT_NE(settled(end), nullptr);
  EXPECT_EQ(settled(end)->stopped_by, StopCause::kAbort);
}

TEST(Execution, ACommandThatEndedByItselfWasStoppedByNobodyEvenAfterACancel) {
  ExecutionCore core = relay();
  (void)step(core, event::CancelRequested{});
  const auto end = step(core, event::Exited{ExecExit{}});
  ASSERT_NE(settled(end), nullptr);
  EXPECT_EQ(settled(end)->stopped_by, StopCause::kNone);
}

TEST(Execution, EachDeadlineNamesItself) {
  for (const StopCause which : {StopCause::kDeadline, StopCause::kBudget}) {
    ExecutionCore core = relay();
    EXPECT_EQ(step(core, event::DeadlineReached{which}).size(), 2U);
    const auto end = step(core, event::Exited{cut_short()});
    ASSERT_NE(settled(end), nullptr);
    EXPECT_EQ(settled(end)->stopped_by, which);
  }
}

TEST(Execution, TheHelpersClockIsTheWallAndWinsOverACancel) {
  ExecutionCore core = relay();
  (void)step(core, event::CancelRequested{});
  ExecExit exit = cut_short();
  exit.timed_out = true;
  const auto end = step(core, event::Exited{exit});
  ASSERT_NE(settled(end), nullptr);
  EXPECT_EQ(settled(end)->stopped_by, StopCause::kWall);
}

TEST(Execution, TheProcessorLimitIsToldByItsSignalOrTheHelpersCount) {
  Policy policy;
  policy.limits.cpu_s = 2;
  ExecExit by_signal;
  by_signal.signal = 24;
  ExecExit by_count;
  by_count.signal = 9;
  by_count.enforcement = {"event:cpu-us=2000001"};
  ExecExit killed;
  killed.signal = 9;
  killed.enforcement = {"event:cpu-us=1999999"};
  EXPECT_EQ(judge_stop(relay(Demand::kBestEffort, policy), by_signal), StopCause::kCpu);
  EXPECT_EQ(judge_stop(relay(Demand::kBestEffort, policy), by_count), StopCause::kCpu);
  EXPECT_EQ(judge_stop(relay(Demand::kBestEffort, policy), killed), StopCause::kNone);
  EXPECT_EQ(judge_stop(relay(), by_signal), StopCause::kNone);
}

TEST(Execution, AVanishedCallerIsCancelledForAndHearsNoMoreOutput) {
  ExecutionCore core = relay();
  EXPECT_EQ(step(core, event::CallerDown{}).size(), 2U);
  EXPECT_TRUE(step(core, event::Output{{Stream::kStdout, "a", 1, false}}).empty());
  EXPECT_TRUE(step(core, event::Credit{Stream::kStdout, kInitialCredit * 2}).empty());
  const auto end = step(core, event::Exited{cut_short()});
  ASSERT_NE(settled(end), nullptr);
  EXPECT_EQ(settled(end)->stopped_by, StopCause::kCallerGone);
}

TEST(Execution, AHelpersEndIsALossThatSaysWhatWasSeen) {
  for (const bool witnessed : {true, false}) {
    ExecutionCore core = relay();
    const auto end = step(core, event::HelperDown{witnessed});
    ASSERT_NE(settled(end), nullptr);
    const LossCause cause = witnessed ? LossCause::kHelperDown : LossCause::kRelayDown;
    EXPECT_EQ(std::get<Failure>(settled(end)->outcome), execution_lost(cause));
  }
}

TEST(Execution, TheGraceMeansNothingBeforeACancelAndALossAfterIt) {
  ExecutionCore core = relay();
  EXPECT_TRUE(step(core, event::GraceExpired{}).empty());
  (void)step(core, event::CancelRequested{});
  const auto end = step(core, event::GraceExpired{});
  ASSERT_NE(settled(end), nullptr);
  EXPECT_EQ(std::get<Failure>(settled(end)->outcome), execution_lost(LossCause::kRelayDown));
  EXPECT_EQ(settled(end)->stopped_by, StopCause::kCancel);
}

TEST(Execution, CreditOnlyGrowsAndNeverForStdin) {
  ExecutionCore core = relay();
  EXPECT_TRUE(step(core, event::Credit{Stream::kStdout, kInitialCredit}).empty());
  EXPECT_EQ(step(core, event::Credit{Stream::kStdout, kInitialCredit + 1}).size(), 1U);
  EXPECT_TRUE(step(core, event::Credit{Stream::kStdout, kInitialCredit + 1}).empty());
  EXPECT_EQ(step(core, event::Credit{Stream::kStderr, kInitialCredit + 1}).size(), 1U);
  EXPECT_TRUE(step(core, event::Credit{Stream::kStdin, kInitialCredit * 9}).empty());
}

TEST(Execution, AnEndWithLessThanWasDemandedIsNotAnExit) {
  ExecutionCore core = relay(Demand::kFull);
  const auto end = step(core, event::Exited{ExecExit{}});
  ASSERT_NE(settled(end), nullptr);
  const auto* failure = std::get_if<Failure>(&settled(end)->outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, FailureKind::kEnforcementShort);
}

TEST(Execution, OfThePolicyOnlyWhatTheReportIsHeldAgainstIsKept) {
  Policy policy;
  policy.writable_roots = {"/secret"};
  policy.env_allow = {"SECRET"};
  policy.network = {NetworkMode::kProxy, {"secret.test"}, "/secret.sock"};
  policy.limits.pids = 7;
  const Expectation kept = expectation_of(policy, {}, Demand::kFull);
  Policy want;
  want.limits.pids = 7;
  want.network.mode = NetworkMode::kProxy;
  EXPECT_EQ(kept.needs, want);
  policy.readable_roots = {"/usr", "/"};
  want.readable_roots = {"/"};
  EXPECT_EQ(expectation_of(policy, {}, Demand::kFull).needs, want);
}

TEST(Execution, AfterTheSettlementNothingMoves) {
  ExecutionCore core = relay();
  ASSERT_NE(settled(step(core, event::Failed{helper_refused("bad_cwd", "no such")})), nullptr);
  const std::vector<ExecutionEvent> all = {
      event::Output{},          event::Exited{},       event::Failed{},
      event::CancelRequested{}, event::CallerDown{},   event::HelperDown{},
      event::DeadlineReached{}, event::GraceExpired{}, event::Credit{Stream::kStdout, ~0ULL}};
  for (const ExecutionEvent& each : all) EXPECT_TRUE(step(core, each).empty());
}

}  // namespace
}  // namespace loom::broker
