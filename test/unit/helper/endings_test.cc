// How a command ends, by itself or by us, and that nothing outlives it (spec/jail.md "Ending").
#include <gtest/gtest.h>

#include <csignal>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

// Cancels once the command has said "ready".
void cancel_when_ready(JailRunner& runner) {
  runner.on_output = [](Execution& execution, const Outcome& so_far) {
    if (so_far.out.find("ready") != std::string::npos) execution.cancel();
  };
}

TEST(Ending, ACancelIsHeardByTheCommandsOwnHandler) {
  JailRunner runner;
  cancel_when_ready(runner);
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(
      JailRunner::shell("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "ready\nbye\n");
  EXPECT_EQ(outcome.exit->code, 3);
  EXPECT_TRUE(outcome.exit->cancelled);
  EXPECT_FALSE(outcome.exit->timed_out);
}

TEST(Ending, ACancelReachesAStoppedProcessAndOneInItsOwnSession) {
  JailRunner runner;
  cancel_when_ready(runner);
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell(
      "setsid sh -c 'trap \"echo far >> heard\" TERM; echo up > far; while test ! -s heard; do sleep 0.01; done' &\n"
      "sh -c 'trap \"echo stopped >> heard2; exit\" TERM; kill -STOP $$; sleep 9' &\n"
      "stopped=$!\n"
      "until test -s far && grep -q '^State:.T' /proc/$stopped/status; do sleep 0.01; done\n"
      "trap 'wait; cat heard heard2; exit 0' TERM; echo ready; while :; do sleep 0.01; done",
      workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "ready\nfar\nstopped\n");
  EXPECT_EQ(outcome.exit->code, 0);
}

TEST(Ending, WhoIgnoresTheCancelIsKilledTwoSecondsLater) {
  JailRunner runner;
  cancel_when_ready(runner);
  const TemporaryDirectory workspace;
  const TimePoint before = monotonic_now();
  const Outcome outcome =
      runner.run(JailRunner::shell("trap '' TERM; echo ready; while :; do sleep 0.1; done", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.exit->signal, SIGKILL);
  EXPECT_EQ(outcome.exit->code, 128 + SIGKILL);
  EXPECT_TRUE(outcome.exit->cancelled);
  EXPECT_GE(monotonic_now() - before, seconds(2));
}

TEST(Ending, TheClockCancelsAndIsNamed) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  ExecRequest request = JailRunner::request({"/bin/sleep", "60"}, workspace.path());
  request.policy.limits.wall_s = 1;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.exit->timed_out);
  EXPECT_TRUE(outcome.exit->cancelled);
  EXPECT_EQ(outcome.exit->signal, SIGTERM);
  EXPECT_GE(outcome.exit->wall_ms, 1000U);
}

TEST(Ending, ABackgroundProcessThatHoldsStdoutDoesNotHoldTheResult) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell("sleep 60 & echo done", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "done\n");
  EXPECT_EQ(outcome.exit->code, 0);
  EXPECT_FALSE(outcome.exit->cancelled);
}

TEST(Ending, WhatOutlivesTheCommandAndItsGraceIsCounted) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell(
      "setsid sh -c 'trap \"\" TERM; echo up > up; while :; do sleep 60; done' & until test -s up; do sleep 0.01; done",
      workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.exit->code, 0);
  EXPECT_TRUE(outcome.reports("event:descendants-killed=2")) << testing::PrintToString(outcome.exit->enforcement);
}

TEST(Ending, TheProcessorTimeOfWhatHadToBeKilledIsCounted) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  // It tells of its own 200 ms of user time, and dies of nothing but KILL.
  const Outcome outcome = runner.run(JailRunner::shell(
      "mkfifo f; setsid sh -c 'trap \"\" TERM; u=0; while [ \"$u\" -lt 20 ]; do "
      "read -r _ _ _ _ _ _ _ _ _ _ _ _ _ u _ < /proc/self/stat; done; echo ready > f; exec sleep 1000' & read r < f",
      workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("event:descendants-killed=1"));
  std::uint64_t used = 0;
  constexpr std::string_view kPrefix = "event:cpu-us=";
  for (const std::string& entry : outcome.exit->enforcement) {
    if (entry.rfind(kPrefix, 0) == 0) used = std::stoull(entry.substr(kPrefix.size()));
  }
  EXPECT_GE(used, 200000U);
}

TEST(Ending, ASignalThatEndsTheCommandIsToldAsASignal) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell("kill -SEGV $$", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.exit->signal, SIGSEGV);
  EXPECT_EQ(outcome.exit->code, 128 + SIGSEGV);
}

TEST(Ending, InitCannotBeSignalledByTheCommand) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell(
      "for s in KILL STOP TERM HUP INT USR1 SEGV; do kill -$s 1 2>/dev/null; done; echo alive; exit 5",
      workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "alive\n");
  EXPECT_EQ(outcome.exit->code, 5);
}

TEST(Ending, AForkStormIsBoundedAndEndsWithTheCommand) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  ExecRequest request = JailRunner::shell("f() { f | f & }; f; sleep 0.3; exit 4", workspace.path());
  request.policy.limits.pids = 30;
  request.policy.limits.wall_s = 20;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("verified:pids-userns"));
  EXPECT_FALSE(outcome.exit->timed_out);
}

TEST(Ending, ACancelBeforeTheGoRunsNothing) {
  JailRunner runner;
  runner.on_start = [](Execution& execution) { execution.cancel(); };
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell("echo ran > ran", workspace.path()));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "spawn_failed");
  EXPECT_FALSE(std::filesystem::exists(workspace.path() + "/ran"));
}

// The helper's own end, by KILL: the jail's init sees it, and everything goes with it.
TEST(Ending, NothingSurvivesAHelperThatIsKilled) {
  const TemporaryDirectory workspace;
  std::array<int, 2> alive{};
  ASSERT_EQ(::pipe2(alive.data(), O_CLOEXEC), 0);
  const pid_t helper = ::fork();
  if (helper == 0) {
    ::close(alive[0]);
    JailRunner runner;
    runner.on_output = [&](Execution&, const Outcome&) { [[maybe_unused]] auto n = ::write(alive[1], "x", 1); };
    runner.run(JailRunner::shell("setsid sleep 60 & trap '' TERM; exec 2>&-; echo ready; sleep 60", workspace.path()));
    ::_exit(0);
  }
  ::close(alive[1]);
  char ready = 0;
  ASSERT_EQ(::read(alive[0], &ready, 1), 1);
  const std::vector<pid_t> inside = processes_of_init_below(helper);
  EXPECT_GE(inside.size(), 3U);
  ::kill(helper, SIGKILL);
  ::waitpid(helper, nullptr, 0);
  // pidfds become readable at the end of each: a wait on the fact, not on the clock.
  for (const pid_t pid : inside) EXPECT_TRUE(ends_within(pid, 5000)) << pid;
}

}  // namespace
}  // namespace loom::helper::test
