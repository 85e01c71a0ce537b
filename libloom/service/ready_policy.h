// The policy a call starts from: a file's, or the ready-made one of a workspace fitted to this host (spec/policy.md
// "Ready-made values", spec/broker.md "Flags of run and call"). Used by `loom-broker run`, `call` and `loom-exec run`
// alike.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/report.h"
#include "policy/model.h"

namespace loom::service {

// Decoded and validated; "-" is stdin. Errors: those of reading a file, and the policy's own; the file's name is the
// place.
[[nodiscard]] Result<Policy> read_policy_file(const std::string& path);

// Of `directory`'s real path: links are followed here, once, and the policy names where the workspace really is.
// `features` is what a helper here says it can hold. Errors: missing_path (there is no such directory), bad_argument
// (the whole host).
struct WorkspacePolicy {
  Path workspace;
  Policy policy;
  std::vector<std::string> notes;  // what it does not ask for here, and what the look at the directory found
};
[[nodiscard]] Result<WorkspacePolicy> workspace_policy(const Path& directory, const Report& features);

}  // namespace loom::service
