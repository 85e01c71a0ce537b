// A jail end to end, by the engine's own door.
#include <gtest/gtest.h>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

TEST(Jail, TheCommandsOwnWordsAndStatusComeBack) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell("echo out; echo err >&2; exit 7", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_EQ(outcome.exit->code, 7);
  EXPECT_EQ(outcome.exit->signal, 0);
  EXPECT_FALSE(outcome.exit->degraded);
}

TEST(Jail, TheContainerIsReportedOnlyAsWitnessed) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell("true", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  for (const char* name : {"namespaces", "mounts", "unprivileged", "no-new-privs", "rlimit-core"}) {
    EXPECT_TRUE(outcome.reports(name)) << name;
    EXPECT_TRUE(outcome.reports(std::string("verified:") + name)) << name;
  }
}

TEST(Jail, NothingOfTheHostsTreeIsAboveTheRootOrInTheMountTable) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell(
      "test / -ef /.. && echo same; cut -d' ' -f5 /proc/self/mountinfo | grep -cx -e / -e /sys -e /home",
      workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "same\n1\n");
}

TEST(Jail, TheCommandHasItsThreeStreamsOpenAndNothingElse) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell("ls /proc/$$/fd", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "0\n1\n2\n");
}

TEST(Jail, WhatIsWrittenInTheWorkspaceBelongsToItsOwner) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const Outcome outcome = runner.run(JailRunner::shell("id -u; echo data > made", workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  const std::string inside = std::to_string(::getuid() == 0 ? kJailUser : ::getuid());
  EXPECT_EQ(outcome.out, inside + "\n");
  struct stat made {};
  ASSERT_EQ(::stat((workspace.path() + "/made").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, ::getuid());
}

}  // namespace
}  // namespace loom::helper::test
