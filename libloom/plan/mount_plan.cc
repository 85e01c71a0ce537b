#include "plan/mount_plan.h"

#include <utility>

#include "plan/draft.h"

namespace loom {

namespace {

// A repository that the command makes carries its own configuration: not kept away, but looked for in the end, where
// the policy freezes anything at all.
void watch_for_repositories(Draft& draft) {
  if (draft.policy.frozen.empty()) return;
  for (const PlanOp& op : draft.plan.ops) {
    if (op.op != OpClass::kWritable || op.kind != NodeKind::kDirectory) continue;
    const Path place = join(op.path, ".git");
    if (draft.walker.look(place).kind == NodeKind::kMissing) draft.plan.guards.push_back({{}, place, {}});
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
  watch_for_repositories(draft);
  return std::move(draft.plan);
}

}  // namespace loom
