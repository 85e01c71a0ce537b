// What a verb that runs a command takes from the process it is called in (spec/broker.md "A call": the CLI's defaults).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/report.h"
#include "policy/model.h"
#include "service/call_flags.h"
#include "service/front.h"
#include "wire/call_spec.h"

namespace loom::broker {

// This process's own directory and environment. Error: bad_cwd, when the directory is gone.
[[nodiscard]] Result<service::CallerFacts> caller_facts();

// What a helper here can hold, as far as a ready-made policy asks for it. A helper is asked only where a cgroup was
// named
// (`cgroup_base`, or LOOM_CGROUP_BASE); one that does not answer is taken to hold none, and is told of when it is
// started.
[[nodiscard]] Report features_here(const std::string& helper, const std::string& cgroup_base);

// The policy that --policy or --workspace names, --workspace made the directory's real path. `features` as in
// workspace_policy().
struct ChosenPolicy {
  Policy policy;
  std::vector<std::string> notes;  // what is to be said of a ready-made one, a line each
};
[[nodiscard]] Result<ChosenPolicy> choose_policy(service::CallFlags& flags, const Path& default_workspace,
                                                 const Report& features);

[[nodiscard]] service::FrontOptions front_options(const service::CallFlags& flags);

// The part of a call's request that comes straight from the flags.
[[nodiscard]] CallSpec spec_of(const service::CallFlags& flags);

// 16 random hex digits.
[[nodiscard]] std::string random_operation();

}  // namespace loom::broker
