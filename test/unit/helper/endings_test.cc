// How a command ends, by itself or by us, and that nothing outlives it (spec/jail.md "Ending").
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

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

TEST(Ending, ACancelReachesTheTracedAndTheTwiceForked) {
  JailRunner runner;
  if (::access("/usr/bin/strace", X_OK) != 0) GTEST_SKIP() << "strace is not installed";
  cancel_when_ready(runner);
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell(
      "strace -o /dev/null sh -c 'trap \"echo traced >> heard\" TERM; echo up > traced; while test ! -s heard; do "
      "sleep "
      "0.01; done' &\n"
      "(setsid sh -c '(trap \"echo far >> heard2; exit\" TERM; echo up > far; while :; do sleep 0.01; done) & exit' "
      "&)\n"
      "until test -s far && test -s traced; do sleep 0.01; done\n"
      "trap 'until test -s heard && test -s heard2; do sleep 0.01; done; cat heard heard2; exit 0' TERM\n"
      "echo ready; while :; do sleep 0.01; done",
      workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "ready\ntraced\nfar\n");
  EXPECT_EQ(outcome.exit->code, 0);
}

TEST(Ending, AForkStormInTheMiddleOfACancelLeavesNothing) {
  JailRunner runner;
  cancel_when_ready(runner);
  const TemporaryDirectory workspace;
  // Each that hears TERM starts two more.
  ExecRequest request = JailRunner::shell(
      "storm() { trap 'storm & storm &' TERM; while :; do sleep 0.01; done; }; storm 2>&- & storm 2>&- & "
      "trap '' TERM; echo ready; wait; while :; do sleep 1; done",
      workspace.path());
  request.policy.limits.pids = 40;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.exit->cancelled);
  EXPECT_EQ(outcome.exit->signal, SIGKILL);
  EXPECT_TRUE(processes_of_init_below(::getpid()).empty());
}

// A file system whose server never says a word, in a mount namespace of this process's own.
bool mount_unanswering(const std::string& at) {
  const uid_t uid = ::getuid();
  const gid_t gid = ::getgid();
  if (::unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (uid != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
  }
  const int server = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);  // kept open to the end of the process
  const std::string options = "rootmode=40000,user_id=" + std::to_string(uid) + ",group_id=" + std::to_string(gid) +
                              ",fd=" + std::to_string(server);
  return server >= 0 && ::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) == 0 &&
         ::mount("unanswering", at.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
}

TEST(Ending, AFileSystemThatDoesNotAnswerHoldsAJailUpForItsTimeAndNoLonger) {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/fuse is not for this user";
  const TemporaryDirectory workspace;
  const TemporaryDirectory hung;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!mount_unanswering(hung.path())) ::_exit(2);
    HostOptions options;
    options.building = milliseconds(300);
    options.probe = ProbeWhen::kByTheFirstJail;
    JailRunner runner(options);
    ExecRequest request = JailRunner::shell("echo ran > ran", workspace.path());
    request.policy.readable_roots.push_back(hung.path() + "/below");
    const Outcome outcome = runner.run(std::move(request));
    const bool told = outcome.error && outcome.error->code == "spawn_failed" &&
                      outcome.error->text().find("not built within") != std::string::npos;
    ::_exit(told && !std::filesystem::exists(workspace.path() + "/ran") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
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
