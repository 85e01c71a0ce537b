#include "policy/compose.h"

namespace loom {

Policy workspace_default(const Path& dir, const WorkspaceFacts& facts) {
  Policy policy;
  policy.writable_roots = {dir};
  policy.writable_roots.insert(policy.writable_roots.end(), facts.writable.begin(), facts.writable.end());
  policy.readable_roots = policy.writable_roots;
  policy.frozen = facts.frozen;
  policy.limits.cpu_s = 300;
  policy.limits.wall_s = 600;
  policy.limits.mem_bytes = 2ULL << 30U;
  policy.limits.pids = 512;
  policy.limits.fsize_bytes = 1ULL << 30U;
  policy.limits.output_bytes = 4ULL << 20U;
  policy.env_allow = {"PATH", "HOME", "LANG", "TERM"};
  return policy;
}

Policy session_lease(Policy base, LeaseOutput output) {
  base.limits.wall_s = 0;
  base.limits.cpu_s = 0;
  if (output == LeaseOutput::kWire) base.limits.output_bytes = 0;
  return base;
}

}  // namespace loom
