// The policy a call starts from: a file's, or the ready-made one of a workspace fitted to this host (spec/policy.md
// "Ready-made values", spec/broker.md "Flags of run and call"). Used by `loom-broker run`, `call` and `loom-exec run`
// alike.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "policy/model.h"

namespace loom::service {

// Decoded and validated. Errors: those of reading a file, and the policy's own; the file's name is the place.
[[nodiscard]] Result<Policy> read_policy_file(const std::string& path);

struct FittedPolicy {
  Policy policy;
  std::vector<std::string> left_out;  // a line for each ceiling that cannot be held here, with the remedy
};
// `directory` is absolute and canonical. Errors: missing_path (there is no such directory), and those of the look at
// it.
[[nodiscard]] Result<FittedPolicy> workspace_policy(const Path& directory);

// What this host can hold, as far as the ready-made policy asks for it.
struct CeilingSupport {
  bool memory = false;  // a delegated cgroup v2 with the memory controller
};
// Pure: leaves out each ceiling that is not supported. A policy that somebody wrote is never fitted.
[[nodiscard]] FittedPolicy fit(Policy policy, const CeilingSupport& support);

}  // namespace loom::service
