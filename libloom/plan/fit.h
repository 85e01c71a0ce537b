// An implicit default policy fitted to the host: a ceiling that nothing here can hold is left out and said, so that a
// first `run` works (spec/policy.md "Ready-made values"). An explicit policy is never fitted. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/report.h"
#include "policy/model.h"

namespace loom {

// Why nothing holds a ceiling of memory, where nobody named a cgroup.
inline constexpr std::string_view kNoCgroupBase = "no cgroup base was named (--cgroup-base, LOOM_CGROUP_BASE)";

struct Fitted {
  Policy policy;
  std::vector<std::string> left_out;  // one line each: which ceiling, why, and what would hold it
};
// `features`: what the helper here says it can hold (its hello's list).
[[nodiscard]] Fitted fit_to_host(Policy policy, const Report& features);

}  // namespace loom
