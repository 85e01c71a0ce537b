// Without a container (user namespaces closed, an outer container): the in-process layers, said to be all there is.
#include <gtest/gtest.h>

#include <csignal>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

class Degraded : public testing::Test {
 protected:
  void SetUp() override {
    runner.host.container = false;
    runner.host.no_container = "closed for this test";
    if (::getuid() == 0) GTEST_SKIP() << "the root start has an id of its own there, to which the workspace is foreign";
  }
  JailRunner runner;
  TemporaryDirectory workspace;
};

TEST_F(Degraded, TheReportSaysWhatIsMissingAndWhatHolds) {
  const Outcome outcome = runner.run(JailRunner::shell(
      "echo in > made; cat /proc/cpuinfo > /dev/null; cat /sys/devices/system/cpu/online", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.exit->degraded);
  EXPECT_TRUE(outcome.reports("skip:namespaces: closed for this test"));
  EXPECT_TRUE(outcome.reports("skip:mounts"));
  for (const char* name : {"no-new-privs", "landlock", "seccomp-base", "seccomp-net", "rlimit-core"}) {
    EXPECT_TRUE(outcome.reports(std::string("verified:") + name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(workspace.path() + "/made"));
  EXPECT_EQ(outcome.out, "");
}

// They are the host's there, and no root of the policy.
TEST_F(Degraded, TheScratchTheSharedMemoryAndTheTerminalsOfTheHostAreNotOpened) {
  const TemporaryDirectory elsewhere;
  const std::string shared = "/dev/shm/loom-test-" + std::to_string(::getpid());
  const Outcome outcome =
      runner.run(JailRunner::shell("echo in > made; echo > /dev/null && echo null; echo out > " + elsewhere.path() +
                                       "/made; echo out > " + shared + "; : < /dev/ptmx && echo ptmx; exit 0",
                                   workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "null\n");
  EXPECT_TRUE(std::filesystem::exists(workspace.path() + "/made"));
  EXPECT_FALSE(std::filesystem::exists(elsewhere.path() + "/made"));
  EXPECT_FALSE(std::filesystem::exists(shared));
  std::filesystem::remove(shared);
}

// The host's own tree is what is seen: nothing that is absent from it is outside of a view.
TEST_F(Degraded, WhatIsAbsentFromTheHostIsNoAttemptAndWhatIsRefusedIsOne) {
  ExecRequest request = JailRunner::shell("cat /usr/no-such-file; : > /usr/refused; exit 0", workspace.path());
  request.why = Why::kPaths;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  bool refused = false;
  for (const std::string& entry : outcome.exit->enforcement) {
    EXPECT_EQ(entry.find("No such file"), std::string::npos) << entry;
    refused = refused || entry.rfind("attempt:openat /usr/refused: Permission denied", 0) == 0;
  }
  EXPECT_TRUE(refused);
}

TEST_F(Degraded, AnyStricterDemandRefusesAndNothingRan) {
  for (const Demand demand : {Demand::kPlatform, Demand::kFull}) {
    ExecRequest request = JailRunner::shell("echo ran > ran", workspace.path());
    request.demand = demand;
    const Outcome outcome = runner.run(std::move(request));
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code, "layer_refused");
  }
  EXPECT_FALSE(std::filesystem::exists(workspace.path() + "/ran"));
}

TEST_F(Degraded, ACancelReachesWhatTheCommandStartedAndNobodyElse) {
  const pid_t bystander = ::fork();
  if (bystander == 0) {
    for (;;) ::pause();
  }
  runner.on_output = [](Execution& execution, const Outcome&) { execution.cancel(); };
  const Outcome outcome = runner.run(JailRunner::shell(
      "setsid sleep 60 & trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "ready\nbye\n");
  EXPECT_EQ(outcome.exit->code, 3);
  EXPECT_EQ(::waitpid(bystander, nullptr, WNOHANG), 0);
  ::kill(bystander, SIGKILL);
  ::waitpid(bystander, nullptr, 0);
  EXPECT_TRUE(processes_of_init_below(::getpid()).empty());
}

}  // namespace
}  // namespace loom::helper::test
