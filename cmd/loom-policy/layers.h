// Which layers a helper with these features would put around this policy, and which it would skip.
#pragma once

#include <string>
#include <vector>

#include "plan/report.h"
#include "policy/model.h"

namespace loom::policy_tool {

struct LayerRow {
  std::string name;
  std::string state;   // "enforced", "skipped" (required and not to be had), "not asked for"
  std::string detail;  // what the helper says of it, or why not
};
[[nodiscard]] std::vector<LayerRow> layer_rows(const Policy& policy, const Report& features);

}  // namespace loom::policy_tool
