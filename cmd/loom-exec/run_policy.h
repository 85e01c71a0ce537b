// Under which policy `run` runs: a named one exactly as it is, or the workspace's ready-made one fitted to the host;
// then the grants of the command line (spec/policy.md "Ready-made values", "Composition"; spec/broker.md "A call": for
// run the base is the requirements).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/report.h"
#include "policy/compose.h"
#include "policy/model.h"
#include "service/call_flags.h"

namespace loom::exec {

struct RunPolicy {
  Composed composed;
  std::vector<std::string> notes;  // what is to be said of an implicit default, one line each
};
// Makes flags.workspace the workspace's real path where the policy is the ready-made one. Errors: unreadable,
// too_large, those of the policy's decoding and validation, missing_path (a workspace that is not there).
[[nodiscard]] Result<RunPolicy> choose_policy(service::CallFlags& flags, const service::CallerFacts& facts,
                                              const Report& features);

}  // namespace loom::exec
