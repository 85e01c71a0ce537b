#include "run_policy.h"

#include <utility>

#include "policy/decode.h"
#include "service/ready_policy.h"

namespace loom::exec {
namespace {

Result<service::WorkspacePolicy> base_policy(service::CallFlags& flags, const service::CallerFacts& facts,
                                             const Report& features) {
  service::WorkspacePolicy base;
  if (flags.policy_file) {
    LOOM_TRY(base.policy, service::read_policy_file(*flags.policy_file));
    return base;
  }
  LOOM_TRY(base, service::workspace_policy(flags.workspace.value_or(facts.cwd), features));
  flags.workspace = base.workspace;
  return base;
}

}  // namespace

Result<RunPolicy> choose_policy(service::CallFlags& flags, const service::CallerFacts& facts, const Report& features) {
  LOOM_TRY(service::WorkspacePolicy base, base_policy(flags, facts, features));
  RunPolicy chosen;
  chosen.notes = std::move(base.notes);
  // Nothing here gives a jail a proxy: that is a broker's.
  chosen.composed = narrow_unenforceable(compose(base.policy, base.policy, flags.grants), HostNetwork{});
  LOOM_CHECK(validate_composed(chosen.composed.policy));
  return chosen;
}

}  // namespace loom::exec
