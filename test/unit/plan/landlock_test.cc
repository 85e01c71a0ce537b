#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "os/unique_fd.h"
#include "plan/landlock_rules.h"
#include "test/support/fake_tree.h"

namespace loom {
namespace {

using namespace landlock;

MountPlan plan_of(const Policy& policy, test::FakeTree& tree) {
  const auto plan = mount_plan(policy, tree.facts());
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
  return plan ? *plan : MountPlan{};
}

MountPlan workspace_plan() {
  test::FakeTree tree;
  tree.system();
  tree.directory("/ws/.git/hooks");
  tree.file("/ws/.env");
  tree.socket("/run/cache.sock");
  Policy policy;
  policy.writable_roots = {"/ws"};
  policy.frozen = {"/ws/.git/hooks"};
  policy.protected_paths = {"/ws/.env"};
  policy.mounts = {{"/run/cache.sock", Access::kReadOnly, true}};
  return plan_of(policy, tree);
}

// What the rules open at a path, as the kernel adds them up.
std::uint64_t opened(const LandlockPlan& plan, const Path& path) {
  std::uint64_t access = 0;
  for (const LandlockRule& rule : plan.rules) {
    const bool above = rule.path == path || rule.path == "/" || path.rfind(rule.path + "/", 0) == 0;
    if (above) access |= rule.access;
  }
  return access;
}

TEST(Landlock, AKernelWithoutItGetsAnEmptyPlan) {
  const LandlockPlan plan = landlock_plan(workspace_plan(), NetworkMode::kOff, 0);
  EXPECT_EQ(plan.abi, 0);
  EXPECT_EQ(plan.handled_fs, 0U);
  EXPECT_TRUE(plan.rules.empty());
  EXPECT_EQ(landlock_plan(workspace_plan(), NetworkMode::kOff, -1).abi, 0);
}

TEST(Landlock, EachAbiHandlesWhatItKnowsAndNoMore) {
  const MountPlan mounts = workspace_plan();
  const std::uint64_t expected[] = {0,      0x1fff, 0x3fff, 0x7fff,  0x7fff, 0xffff,
                                    0xffff, 0xffff, 0xffff, 0x1ffff, 0x1ffff};
  const unsigned bytes[] = {0, 8, 8, 8, 16, 16, 24, 24, 24, 24, 24};
  for (int abi = 1; abi <= 10; ++abi) {
    const LandlockPlan plan = landlock_plan(mounts, NetworkMode::kOff, abi);
    EXPECT_EQ(plan.abi, std::min(abi, kNewestAbi));
    EXPECT_EQ(plan.handled_fs, expected[abi]) << abi;
    EXPECT_EQ(plan.attribute_bytes, bytes[abi]) << abi;
    EXPECT_EQ(plan.handled_net, abi >= 4 ? 3U : 0U) << abi;
    EXPECT_EQ(plan.scoped, abi >= 6 ? 3U : 0U) << abi;
    EXPECT_EQ(plan.confines_path_sockets, abi >= 9) << abi;
    for (const LandlockRule& rule : plan.rules) EXPECT_EQ(rule.access & ~plan.handled_fs, 0U) << rule.path;
  }
}

TEST(Landlock, TheRegionsAreThoseOfTheMounts) {
  const LandlockPlan plan = landlock_plan(workspace_plan(), NetworkMode::kOff, 7);
  EXPECT_EQ(opened(plan, "/usr/bin/sh") & (kExecute | kReadFile | kWriteFile), kExecute | kReadFile);
  EXPECT_EQ(opened(plan, "/ws/x") & (kWriteFile | kMakeRegular | kRefer | kTruncate),
            kWriteFile | kMakeRegular | kRefer | kTruncate);
  EXPECT_EQ(opened(plan, "/tmp/x") & kWriteFile, kWriteFile);
  EXPECT_EQ(opened(plan, "/home/u/x"), kReadDir) << "only the listing that / opens";
  EXPECT_EQ(opened(plan, "/ws/x") & kIoctlDevice, 0U);
  EXPECT_EQ(opened(plan, "/dev/pts/0") & kIoctlDevice, kIoctlDevice);
  EXPECT_EQ(opened(plan, "/dev/null") & kIoctlDevice, 0U);
  EXPECT_EQ(opened(plan, "/proc/self/comm") & (kWriteFile | kExecute), kWriteFile);
}

TEST(Landlock, InTheHostsTreeOnlyTheRootsAreOpenedForWriting) {
  const LandlockPlan plan = landlock_plan_of_host_tree(workspace_plan(), NetworkMode::kOff, 7);
  EXPECT_EQ(opened(plan, "/ws/f") & kWriteFile, kWriteFile);
  EXPECT_EQ(opened(plan, "/dev/null") & kWriteFile, kWriteFile);
  EXPECT_EQ(opened(plan, "/usr/bin/cc") & kExecute, kExecute);
  for (const char* path : {"/tmp/f", "/dev/shm/f", "/dev/pts/0", "/dev/sda", "/proc/self/comm", "/home/f"}) {
    EXPECT_EQ(opened(plan, path) & (kWriteFile | kMakeRegular), 0U) << path;
  }
  EXPECT_EQ(plan.scoped, landlock_plan(workspace_plan(), NetworkMode::kOff, 7).scoped);
}

TEST(Landlock, EveryWriteGrantCarriesRefer) {
  const LandlockPlan plan = landlock_plan(workspace_plan(), NetworkMode::kOff, 2);
  for (const LandlockRule& rule : plan.rules) {
    EXPECT_EQ((rule.access & kMakeRegular) != 0, (rule.access & kRefer) != 0) << rule.path;
  }
}

TEST(Landlock, AFileHasOnlyWhatAFileCanHave) {
  const LandlockPlan plan = landlock_plan(workspace_plan(), NetworkMode::kOff, 9);
  const auto rule = std::find_if(plan.rules.begin(), plan.rules.end(),
                                 [](const LandlockRule& r) { return r.path == "/run/cache.sock"; });
  ASSERT_NE(rule, plan.rules.end());
  EXPECT_EQ(rule->access, kExecute | kReadFile | kResolveUnix);
}

TEST(Landlock, TcpIsClosedUnlessTheNetworkIsFullAndTheProxyHasOnePort) {
  const MountPlan mounts = workspace_plan();
  EXPECT_TRUE(landlock_plan(mounts, NetworkMode::kOff, 7).ports.empty());
  const LandlockPlan proxy = landlock_plan(mounts, NetworkMode::kProxy, 7);
  ASSERT_EQ(proxy.ports.size(), 1U);
  EXPECT_EQ(proxy.ports[0].port, 3128);
  EXPECT_EQ(proxy.ports[0].access, kConnectTcp);
  EXPECT_EQ(landlock_plan(mounts, NetworkMode::kFull, 7).handled_net, 0U);
}

TEST(Landlock, TenThousandFrozenEntriesNeedNoRules) {
  test::FakeTree tree;
  Policy policy;
  policy.writable_roots = {"/ws"};
  for (int i = 0; i < 10000; ++i) {
    const Path path = "/ws/d" + std::to_string(i % 100) + "/f" + std::to_string(i);
    tree.file(path);
    policy.frozen.push_back(path);
  }
  EXPECT_LT(landlock_plan(plan_of(policy, tree), NetworkMode::kOff, 7).rules.size(), 12U);
}

TEST(Landlock, ThisKernelTakesTheAttributes) {
  struct {
    std::uint64_t fs, net, scoped;
  } attributes{};
  const long abi = ::syscall(444, nullptr, 0, 1);  // landlock_create_ruleset, LANDLOCK_CREATE_RULESET_VERSION
  if (abi < 1) GTEST_SKIP() << "no Landlock on this kernel";
  const LandlockPlan plan = landlock_plan(workspace_plan(), NetworkMode::kOff, static_cast<int>(abi));
  attributes = {plan.handled_fs, plan.handled_net, plan.scoped};
  const UniqueFd ruleset(static_cast<int>(::syscall(444, &attributes, plan.attribute_bytes, 0)));
  EXPECT_TRUE(ruleset.valid()) << "ABI " << abi;
}

}  // namespace
}  // namespace loom
