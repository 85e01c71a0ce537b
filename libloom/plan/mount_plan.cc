#include "plan/mount_plan.h"

#include <utility>

#include "plan/draft.h"

namespace loom {

namespace {

// A repository that the command makes, and a git config that it may write, carry the command's own configuration: not
// kept away, but looked at again in the end, where the policy freezes anything at all.
void watch_repositories(Draft& draft) {
  if (draft.policy.frozen.empty()) return;
  for (const PlanOp& op : draft.plan.ops) {
    if (op.op != OpClass::kWritable || op.kind != NodeKind::kDirectory) continue;
    const Path git = join(op.path, ".git");
    const Path config = join(git, "config");
    const NodeKind kind = draft.walker.look(git).kind;
    if (kind == NodeKind::kMissing) draft.plan.guards.push_back({{}, git, {}});
    if (kind == NodeKind::kDirectory) draft.plan.guards.push_back({{}, join(git, "index"), {}});
    const bool open = kind == NodeKind::kDirectory && draft.walker.look(config).kind == NodeKind::kFile &&
                      !draft.frozen_index.covers_any(config) && !draft.protected_index.covers_any(config);
    if (open) draft.plan.guards.push_back({{}, config, {}});
  }
}

}  // namespace

Result<MountPlan> mount_plan(const Policy& policy, const HostFacts& host) {
  Draft draft(policy, host);
  LOOM_CHECK(collect_entries(draft));
  LOOM_CHECK(judge_sources(draft));
  plan_grants(draft);
  plan_subtractions(draft);
  plan_mounts(draft);
  watch_repositories(draft);
  return std::move(draft.plan);
}

}  // namespace loom
