// A platform without a jail, as far as one that has it can show: refused, and where the caller insists, said.
#include "helper/unjailed.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

class Unjailed : public testing::Test {
 protected:
  void SetUp() override { runner.host.options.platform = Platform::kNoJail; }
  JailRunner runner;
  TemporaryDirectory workspace;
};

TEST(Platform, WithoutAJailIsRefusedUnlessTheCallerSaysThatHeKnows) {
  HostOptions options;
  options.platform = Platform::kNoJail;
  const auto refused = make_host_context(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "unsupported_platform");
  options.allow_unenforced = true;
  const auto host = make_host_context(options);
  ASSERT_TRUE(host);
  ASSERT_EQ(host->features.size(), 1U);
  EXPECT_EQ(unapplied_layers(host->features), std::vector<std::string>{"jail"});
}

TEST_F(Unjailed, TheReportBeginsWithTheSkipAndClaimsNothing) {
  const Outcome outcome = runner.run(JailRunner::shell("echo out; echo err >&2; exit 7", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.exit->code, 7);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_TRUE(outcome.exit->degraded);
  ASSERT_EQ(outcome.exit->enforcement.size(), 1U);
  EXPECT_EQ(outcome.exit->enforcement[0].rfind("skip:jail: ", 0), 0U);
}

TEST_F(Unjailed, ADemandForEverythingRefusesAndNothingRan) {
  ExecRequest request = JailRunner::shell("echo > ran", workspace.path());
  request.demand = Demand::kFull;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "layer_refused");
  EXPECT_FALSE(std::filesystem::exists(workspace.path() + "/ran"));
}

TEST_F(Unjailed, WhatCannotBeExecutedHasItsOwnCode) {
  // A directory in it that cannot be searched would be another answer.
  const std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  ::setenv("PATH", "/usr/bin:/bin", 1);
  ExecRequest request = JailRunner::shell("", workspace.path());
  request.argv = {"no-such-program"};
  Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "exec_not_found");
  ::setenv("PATH", path.c_str(), 1);
  outcome = runner.run(JailRunner::shell("true", "/nowhere"));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "bad_cwd");
}

TEST_F(Unjailed, ACancelReachesTheWholeGroup) {
  runner.on_output = [](Execution& execution, const Outcome&) { execution.cancel(); };
  const Outcome outcome = runner.run(JailRunner::shell(
      "sleep 60 & trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "ready\nbye\n");
  EXPECT_TRUE(outcome.exit->cancelled);
  // Killed, and perhaps not yet gone; where this process adopts orphans they are its own.
  for (const pid_t pid : processes_of_init_below(::getpid())) EXPECT_TRUE(ends_within(pid, 5000)) << pid;
}

}  // namespace
}  // namespace loom::helper::test
