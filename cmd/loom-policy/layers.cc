#include "layers.h"

#include <algorithm>

namespace loom::policy_tool {

namespace {

constexpr std::string_view kSkip = "skip:";

// "cgroup-v2" and "not delegated" of "skip:cgroup-v2: not delegated"; "landlock" and "landlock:abi=7" of the latter.
LayerRow row_of(const std::string& feature) {
  if (feature.compare(0, kSkip.size(), kSkip) != 0) return {std::string(layer_of(feature)), "enforced", feature};
  const std::size_t end = feature.find(':', kSkip.size());
  LayerRow row{feature.substr(kSkip.size(), end - kSkip.size()), "skipped", ""};
  if (end != std::string::npos)
    row.detail = feature.substr(std::min(feature.find_first_not_of(' ', end + 1), feature.size()));
  return row;
}

}  // namespace

std::vector<LayerRow> layer_rows(const Policy& policy, const Report& features) {
  std::vector<LayerRow> known;
  for (const std::string& feature : features) known.push_back(row_of(feature));
  std::vector<LayerRow> rows;
  for (const std::string& name : required_layers(policy, features)) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const LayerRow& row) { return row.name == name; });
    rows.push_back(found != known.end() ? *found : LayerRow{name, "skipped", "the helper does not have it"});
    if (found != known.end()) known.erase(found);
  }
  for (LayerRow& row : known) {
    row.state = "not asked for";
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace loom::policy_tool
