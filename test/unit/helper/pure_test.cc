// The parts of the engine that touch no kernel: maps, mount tables, orders, words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "helper/exec_fault.h"
#include "helper/host_context.h"
#include "helper/ids.h"
#include "helper/jail_report.h"
#include "helper/orders.h"
#include "helper/sources.h"

namespace loom::helper {
namespace {

// What a map makes of one id; -1: nothing.
std::int64_t mapped(const std::string& lines, std::uint64_t id) {
  std::istringstream in(lines);
  for (std::uint64_t inside = 0, outside = 0, count = 0; in >> inside >> outside >> count;) {
    if (id >= inside && id - inside < count) return static_cast<std::int64_t>(outside + (id - inside));
  }
  return -1;
}

TEST(Idmap, WithoutASwapEveryIdIsShiftedByTheBase) {
  const std::string lines = idmap_lines(1000000, false, 5);
  EXPECT_EQ(mapped(lines, 0), 1000000);
  EXPECT_EQ(mapped(lines, 65535), 1065535);
  EXPECT_EQ(mapped(lines, 65536), -1);
}

TEST(Idmap, TheOwnerAndTheCommandsUserChangePlacesAndNobodyElseDoes) {
  for (const std::uint32_t owner : {0U, 1U, 999U, 1000U, 1001U, 65534U, 65535U}) {
    const std::string lines = idmap_lines(1000000, true, owner);
    EXPECT_EQ(mapped(lines, owner), 1000000 + kJailUser) << owner;
    EXPECT_EQ(mapped(lines, kJailUser), 1000000 + owner) << owner;
    for (const std::uint32_t other : {2U, 500U, 998U, 1002U, 40000U, 65533U}) {
      EXPECT_EQ(mapped(lines, other), 1000000 + other) << owner << " " << other;
    }
  }
}

TEST(Idmap, AnOwnerPastTheBlockTakesThePlaceOfTheCommandsUser) {
  const std::string lines = idmap_lines(1000000, true, 400000);
  EXPECT_EQ(mapped(lines, 400000), 1000000 + kJailUser);
  EXPECT_EQ(mapped(lines, kJailUser), -1);
  EXPECT_EQ(mapped(lines, 65535), 1065535);
}

TEST(MountTable, MountsBelowAPathAreFoundByComponentAndUnescaped) {
  const std::string table =
      "22 1 0:20 / / rw - ext4 /dev/a rw\n"
      "23 22 0:21 / /ws rw shared:1 - tmpfs none rw\n"
      "24 23 0:22 /sub /ws/a\\040b rw - tmpfs none rw\n"
      "25 22 0:23 / /wsx rw - tmpfs none rw\n"
      "26 23 0:24 / /ws/a\\040b/c rw - tmpfs none rw\n"
      "broken line\n";
  EXPECT_EQ(mounts_below(table, "/ws"), (std::vector<Path>{"/ws/a b", "/ws/a b/c"}));
  EXPECT_TRUE(mounts_below(table, "/w").empty());
}

TEST(Orders, ThePathsOfTheChecksComeBackInOrder) {
  OrdersWriter orders;
  orders.add_bytes(stage2::Tag::kCwd, "/somewhere");
  orders.add(stage2::Tag::kMountCheck, stage2::MountCheck{}, "/a");
  orders.add(stage2::Tag::kMountCheck, stage2::MountCheck{}, "/longer path");
  EXPECT_EQ(checked_paths(orders.bytes()), (std::vector<Path>{"/a", "/longer path"}));
  EXPECT_TRUE(checked_paths(orders.bytes().substr(0, 20)).empty());
}

TEST(ExecFault, EveryFaultHasItsCodeAndItsPath) {
  stage2::ExecFailed failed{};
  failed.error = ENOENT;
  std::string("/bin/x").copy(failed.path, sizeof failed.path);
  const std::vector<std::pair<stage2::ExecFault, std::string>> codes{
      {stage2::ExecFault::kSetup, "spawn_failed"},           {stage2::ExecFault::kCwd, "bad_cwd"},
      {stage2::ExecFault::kNotFound, "exec_not_found"},      {stage2::ExecFault::kPermission, "exec_permission"},
      {stage2::ExecFault::kInterpreter, "exec_interpreter"}, {stage2::ExecFault::kFormat, "exec_format"},
      {stage2::ExecFault::kTooBig, "exec_too_big"},          {stage2::ExecFault::kOther, "spawn_failed"}};
  for (const auto& [fault, code] : codes) {
    failed.fault = fault;
    EXPECT_EQ(explain_exec(failed).code, code);
    EXPECT_EQ(explain_exec(failed).where, "/bin/x");
  }
}

class Reporting : public testing::Test {
 protected:
  Policy policy;
  WhatIsKnown known{policy, true, false, "", "", {}, "", {}, {}, {}, false, "", ""};
  void SetUp() override {
    known.own_namespaces = {1, 2, 3, 4, 5, 6, 7};
    for (std::uint64_t i = 0; i < 7; ++i) known.seen.namespaces[i] = 100 + i;
    known.mounts_tag = "mounts:ro=1,rw=2,frozen=3,mask=4,pin=5,bind_ro=6,bind_rw=7,scratch=tmpfs";
    const std::uint32_t counts[stage2::kMountClasses] = {1, 2, 3, 4, 5, 6, 7, 3};
    std::copy(std::begin(counts), std::end(counts), known.seen.mounts);
    known.seen.seen = (1U << stage2::kWitnessCount) - 1;
    known.seen.landlock_abi = 7;
  }
  [[nodiscard]] bool says(const std::string& entry) const {
    const Report report = compose_report(known);
    return std::find(report.begin(), report.end(), entry) != report.end();
  }
};

TEST_F(Reporting, AWitnessedLayerIsNamedAndVerified) {
  EXPECT_TRUE(says("namespaces:net=fresh"));
  EXPECT_TRUE(says("verified:namespaces"));
  EXPECT_TRUE(says("landlock:abi=7"));
}

TEST_F(Reporting, WhatWasNotSeenIsASkipAndNeverVerified) {
  known.seen.seen &= ~(1U << stage2::kSawSeccompBase);
  known.seen.error[stage2::kSawSeccompBase] = EPERM;
  EXPECT_FALSE(says("seccomp-base"));
  EXPECT_FALSE(says("verified:seccomp-base"));
  EXPECT_TRUE(says("skip:seccomp-base: not seen from inside (Operation not permitted)"));
}

TEST_F(Reporting, ASilentStage2ClaimsNothing) {
  known.seen = {};
  for (const std::string& entry : compose_report(known)) {
    EXPECT_TRUE(entry.rfind("skip:", 0) == 0 || entry.rfind("event:", 0) == 0) << entry;
  }
}

TEST_F(Reporting, ANamespaceThatIsTheHelpersOwnIsNoContainer) {
  known.seen.namespaces[6] = 7;
  EXPECT_FALSE(says("namespaces:net=fresh"));
  EXPECT_TRUE(says("skip:namespaces: a namespace inside is the helper's own"));
  policy.network.mode = NetworkMode::kFull;
  EXPECT_TRUE(says("namespaces:net=host"));
}

TEST_F(Reporting, APathThatIsNotAsPlannedIsNamedAndTheLayerIsNotClaimed) {
  known.seen.failures = 3;
  known.failed_mounts = {"/ws/.env"};
  EXPECT_TRUE(says("skip:mounts: /ws/.env: not as planned when seen from inside"));
  EXPECT_TRUE(says("skip:mounts: 2 more paths not as planned"));
  EXPECT_FALSE(says("verified:mounts"));
}

TEST_F(Reporting, TheCountsAreThoseThatWereSeen) {
  known.seen.mounts[stage2::kClassMask] = 9;
  EXPECT_TRUE(says("mounts:ro=1,rw=2,frozen=3,mask=9,pin=5,bind_ro=6,bind_rw=7,scratch=tmpfs"));
}

TEST_F(Reporting, ACeilingThatNoCgroupHoldsIsASkipThatNamesItAndSaysWhy) {
  policy.limits.mem_bytes = 1;
  known.no_cgroup = "no base";
  EXPECT_TRUE(says("skip:cgroup-v2: mem_bytes not held: no base"));
  policy.limits.pids = 1;
  EXPECT_TRUE(says("skip:cgroup-v2: mem_bytes not held: no base")) << "processes are counted otherwise";
  known.in_cgroup = true;
  known.no_cgroup = "pids.max: does not hold";
  EXPECT_TRUE(says("skip:cgroup-v2: mem_bytes, pids not held: pids.max: does not hold"));
  EXPECT_FALSE(says("verified:cgroup-v2"));
}

TEST_F(Reporting, ACgroupIsReportedWithWhatItHolds) {
  policy.limits.mem_bytes = 1;
  policy.limits.pids = 1;
  known.in_cgroup = true;
  known.cgroup_holds = "memory.max=0,pids.max=2";
  EXPECT_TRUE(says("cgroup-v2:memory.max=0,pids.max=2"));
  EXPECT_TRUE(says("verified:cgroup-v2"));
  EXPECT_FALSE(says("skip:pids-userns"));
  policy.limits = {};
  policy.limits.cpu_s = 1;
  known.cgroup_holds = "";
  EXPECT_TRUE(says("cgroup-v2")) << "it counts the tree's processor time";
}

}  // namespace
}  // namespace loom::helper
