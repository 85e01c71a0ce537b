// Claims that cannot be right: an enforcement report held against its hello and its policy (spec/jail.md "Layers and
// the report"). Pure; judge_report puts them beside the skips.
#pragma once

#include <string>
#include <vector>

#include "plan/report.h"

namespace loom {

// What a report claims and its own words, the hello or the policy contradict: "doubt:LAYER: why" each. A layer that
// the hello said this helper cannot hold; a newer Landlock than the hello's; the host's network or its whole tree where
// the policy has neither; a layer verified and not claimed. A helper that lies with care says nothing of the kind:
// loom-exec(1) tells what cannot be caught.
[[nodiscard]] std::vector<std::string> contradictions(const Policy& policy, const Report& features,
                                                      const Report& report);

}  // namespace loom
