// What the fixtures cannot say: the host is asked once a path, digests, identities, big policies.
#include "plan/mount_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "plan/explain.h"
#include "test/support/fake_tree.h"

namespace loom {
namespace {

MountPlan planned(const Policy& policy, const HostFacts& host) {
  const auto plan = mount_plan(policy, host);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
  return plan ? *plan : MountPlan{};
}

Policy workspace() {
  Policy policy;
  policy.writable_roots = {"/ws"};
  policy.frozen = {"/ws/.git/config"};
  return policy;
}

test::FakeTree repository() {
  test::FakeTree tree;
  tree.system();
  tree.file("/ws/.git/config");
  return tree;
}

TEST(MountPlan, AsksTheHostOnceAPath) {
  HostFacts host = repository().facts();
  std::map<Path, int> asked;
  host.look = [&asked, look = host.look](const Path& path) {
    ++asked[path];
    return look(path);
  };
  Policy policy = workspace();
  policy.protected_paths = {"/ws/.git/secret", "/ws/.git/config/x"};
  (void)planned(policy, host);
  for (const auto& [path, times] : asked) EXPECT_EQ(times, 1) << path;
  EXPECT_EQ(asked.count("/ws/.git/config/x"), 0U) << "nothing is below a file";
}

TEST(MountPlan, CarriesWhatTheBuilderMustFindAtEachSource) {
  test::FakeTree tree = repository();
  const MountPlan plan = planned(workspace(), tree.facts());
  for (const PlanOp& op : plan.ops) {
    if (op.op == OpClass::kScratch || op.op == OpClass::kSymlink) continue;
    EXPECT_EQ(op.inode, tree.nodes().at(op.path).inode) << op.path;
    EXPECT_EQ(op.kind, tree.nodes().at(op.path).kind) << op.path;
  }
}

TEST(MountPlan, TheDigestIsOfWhatIsDoneAndNotOfInodes) {
  const std::string digest = plan_digest(planned(workspace(), repository().facts()));
  EXPECT_EQ(digest.size(), 16U);
  test::FakeTree other = repository();
  other.file("/ws/.git/config").inode = 4711;
  EXPECT_EQ(plan_digest(planned(workspace(), other.facts())), digest);
  Policy wider = workspace();
  wider.frozen.clear();
  EXPECT_NE(plan_digest(planned(wider, repository().facts())), digest);
  HostFacts bigger = repository().facts();
  bigger.scratch_bytes *= 2;
  EXPECT_NE(plan_digest(planned(workspace(), bigger)), digest);
}

TEST(MountPlan, TheTagCarriesTheCountsThatWereSeenNotThosePlanned) {
  const MountPlan plan = planned(workspace(), repository().facts());
  MountCounts seen = planned_counts(plan);
  EXPECT_EQ(seen.frozen, 1U);
  seen.frozen = 0;
  EXPECT_EQ(mounts_tag(plan, seen),
            "mounts:ro=0,rw=1,frozen=0,mask=0,pin=1,bind_ro=0,bind_rw=0,scratch=tmpfs,base=minimal,plan=" +
                plan_digest(plan));
}

TEST(MountPlan, TenThousandEntriesBecomeTenThousandOperations) {
  test::FakeTree tree;
  Policy policy;
  policy.writable_roots = {"/ws"};
  for (int i = 0; i < 10000; ++i) {
    const Path path = "/ws/d" + std::to_string(i % 100) + "/f" + std::to_string(i);
    tree.file(path);
    (i % 2 == 0 ? policy.frozen : policy.protected_paths).push_back(path);
  }
  const MountCounts counts = planned_counts(planned(policy, tree.facts()));
  EXPECT_EQ(counts.frozen, 5000U);
  EXPECT_EQ(counts.mask, 5000U);
  EXPECT_EQ(counts.pin, 100U);
}

TEST(MountPlan, NamesThatAreNotUtf8ArePlannedByteForByte) {
  test::FakeTree tree;
  const Path path = "/ws/\xff\xfe";
  tree.file(path);
  Policy policy;
  policy.writable_roots = {"/ws"};
  policy.protected_paths = {path};
  const MountPlan plan = planned(policy, tree.facts());
  EXPECT_EQ(plan.ops.back().path, path);
  EXPECT_EQ(judge_path(plan, path).access, PathAccess::kHidden);
}

TEST(Explain, RowsAreThePlanInItsOrderThenWhatNeededNothing) {
  Policy policy = workspace();
  policy.protected_paths = {"/srv/none"};
  const MountPlan plan = planned(policy, repository().facts());
  const auto rows = explain_plan(plan);
  ASSERT_EQ(rows.size(), plan.ops.size() + plan.idle.size());
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    EXPECT_EQ(rows[i].what, to_text(plan.ops[i].op));
    EXPECT_EQ(rows[i].where, plan.ops[i].path);
    EXPECT_EQ(rows[i].entry, plan.ops[i].entry);
  }
  EXPECT_EQ(rows.back().what, "nothing");
  EXPECT_EQ(rows.back().entry, "protected[0]");
}

// The proxy's socket: a required mount of the network's.

Policy proxied(const Path& socket) {
  Policy policy = workspace();
  policy.network = {NetworkMode::kProxy, {"example.org"}, socket};
  return policy;
}

std::vector<PlanOp> proxy_ops(const MountPlan& plan) {
  std::vector<PlanOp> found;
  std::copy_if(plan.ops.begin(), plan.ops.end(), std::back_inserter(found),
               [](const PlanOp& op) { return op.entry == kProxyEntry; });
  return found;
}

TEST(MountPlan, TheProxysSocketIsARequiredMountWhereverItLies) {
  test::FakeTree tree = repository();
  tree.socket("/run/loom/jail-1/a.sock");
  tree.socket("/run/b.sock");
  const MountPlan one = planned(proxied("/run/loom/jail-1/a.sock"), tree.facts());
  ASSERT_EQ(proxy_ops(one).size(), 1U);
  EXPECT_EQ(proxy_ops(one)[0].path, "/run/loom/jail-1/a.sock");
  EXPECT_EQ(proxy_ops(one)[0].op, OpClass::kMount);
  // Another broker's socket is another path, and the same plan.
  EXPECT_EQ(plan_digest(one), plan_digest(planned(proxied("/run/b.sock"), tree.facts())));
  EXPECT_EQ(plan_digest(one), plan_digest(planned(proxied(""), tree.facts())));
  EXPECT_EQ(planned_counts(one).bind_ro, 0U);
  const auto absent = mount_plan(proxied("/run/none.sock"), tree.facts());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, "missing_path");
}

TEST(MountPlan, ABrokersSocketIsNotNamedYetAndThePlanSaysSo) {
  const MountPlan plan = planned(proxied(""), repository().facts());
  EXPECT_TRUE(proxy_ops(plan).empty());
  const auto idle = std::find_if(plan.idle.begin(), plan.idle.end(),
                                 [](const IdleEntry& entry) { return entry.entry == kProxyEntry; });
  ASSERT_NE(idle, plan.idle.end());
  EXPECT_NE(idle->why.find("broker"), std::string::npos);
}

TEST(MountPlan, TheProxysSocketMayLieBelowAProtectedDirectoryAndNotBeProtectedItself) {
  test::FakeTree tree = repository();
  tree.socket("/run/loom/jail-1/a.sock");
  Policy policy = proxied("/run/loom/jail-1/a.sock");
  policy.readable_roots = {"/"};
  policy.protected_paths = {"/run/loom"};
  const MountPlan plan = planned(policy, tree.facts());
  ASSERT_EQ(proxy_ops(plan).size(), 1U);
  EXPECT_EQ(plan.ops.back().entry, kProxyEntry) << "after the mask that it lies below";
  EXPECT_EQ(judge_path(plan, "/run/loom/broker.sock").access, PathAccess::kHidden);
  EXPECT_EQ(judge_path(plan, "/run/loom/jail-1/a.sock").access, PathAccess::kRead);
  policy.protected_paths = {"/run/loom/jail-1/a.sock"};
  EXPECT_FALSE(mount_plan(policy, tree.facts()));
}

}  // namespace
}  // namespace loom
