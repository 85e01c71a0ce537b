#include "plan/fit.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

Policy asking() {
  Policy policy;
  policy.limits.mem_bytes = 2048;
  policy.limits.pids = 10;
  policy.limits.cpu_s = 5;
  policy.limits.wall_s = 7;
  return policy;
}

TEST(Fit, AHostThatHoldsEveryCeilingChangesNothing) {
  const Fitted fitted = fit_to_host(asking(), {"cgroup-v2", "rlimit-cpu", "rlimit-fsize"});
  EXPECT_EQ(fitted.policy, asking());
  EXPECT_TRUE(fitted.left_out.empty());
}

TEST(Fit, MemoryWithoutACgroupIsLeftOutAndSaidWithTheReasonAndTheRemedy) {
  const Fitted fitted =
      fit_to_host(asking(), {"pids-userns", "rlimit-cpu", "rlimit-fsize", "skip:cgroup-v2: not delegated"});
  EXPECT_EQ(fitted.policy.limits.mem_bytes, 0U);
  EXPECT_EQ(fitted.policy.limits.pids, 10U) << "the user namespace holds it";
  ASSERT_EQ(fitted.left_out.size(), 1U);
  EXPECT_NE(fitted.left_out[0].find("mem_bytes=2048"), std::string::npos) << fitted.left_out[0];
  EXPECT_NE(fitted.left_out[0].find("cgroup-v2: not delegated"), std::string::npos) << fitted.left_out[0];
  EXPECT_NE(fitted.left_out[0].find("MemoryMax"), std::string::npos) << fitted.left_out[0];
}

TEST(Fit, ACeilingThatWasNotAskedForIsNotMissed) {
  const Fitted fitted = fit_to_host(Policy{}, {});
  EXPECT_EQ(fitted.policy, Policy{});
  EXPECT_TRUE(fitted.left_out.empty());
}

TEST(Fit, WallTimeIsNeverLeftOut) {
  EXPECT_EQ(fit_to_host(asking(), {}).policy.limits.wall_s, 7U);
}

}  // namespace
}  // namespace loom
