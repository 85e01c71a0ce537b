// The base view: what every jail sees when no root is "/" (spec/jail.md "The base view is an allowlist"). Internal to
// libloom/plan. /proc, /dev and the tmpfs root are the builder's own and no part of the plan.
#pragma once

#include <vector>

#include "plan/walk.h"

namespace loom {

inline constexpr const char* kBaseEntry = "base";

// Optional read-only binds and the root links, in order; what is absent is left out.
[[nodiscard]] std::vector<PlanOp> base_view(Walker& walker);

}  // namespace loom
