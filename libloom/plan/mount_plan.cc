#include "plan/mount_plan.h"

#include <utility>

#include "plan/draft.h"

namespace loom {

Result<MountPlan> mount_plan(const Policy& policy, const HostFacts& host) {
  Draft draft(policy, host);
  LOOM_CHECK(collect_entries(draft));
  LOOM_CHECK(judge_sources(draft));
  plan_grants(draft);
  plan_subtractions(draft);
  plan_mounts(draft);
  return std::move(draft.plan);
}

}  // namespace loom
