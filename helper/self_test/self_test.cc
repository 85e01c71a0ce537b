#include "helper/self_test/self_test.h"

#include <algorithm>

#include "helper/self_test/probes_table.h"
#include "os/loop.h"
#include "plan/report.h"

namespace loom::helper {
namespace {

// Why this host has not the layer; "" when it has.
std::string why_not(const Report& features, std::string_view layer) {
  const auto held = [&](std::string_view name) {
    return std::any_of(features.begin(), features.end(), [&](const std::string& e) { return layer_of(e) == name; });
  };
  if (held(layer) || (layer == layer::kNamespaces && held(layer::kBwrap))) return "";
  const std::string prefix = skip_entry(layer, "");
  for (const std::string& entry : features) {
    if (entry.compare(0, prefix.size(), prefix) == 0) return std::string(layer) + ": " + entry.substr(prefix.size());
  }
  return std::string(layer) + ": this host does not tell of it";
}

ProbeResult run_case(const TrialGround& ground, const ProbeCase& probe) {
  ProbeResult result{std::string(probe.name), std::string(probe.misdeed), {}, Verdict::kSkipped, "", 0};
  for (const std::string_view layer : probe.layers) {
    result.layers.emplace_back(layer);
    if (result.reason.empty()) result.reason = why_not(ground.host().features, layer);
  }
  if (!result.reason.empty()) return result;
  const TimePoint began = monotonic_now();
  Trial trial(ground, result.name);
  trial.need(probe.layers);
  probe.run(trial);
  result.verdict = trial.conclude();
  if (result.verdict != Verdict::kEnforced) result.reason = trial.reason();
  result.wall_ms = to_ms(monotonic_now() - began);
  return result;
}

}  // namespace

bool without_a_jail(const Report& features) {
  const auto skipped = unapplied_layers(features);
  return std::find(skipped.begin(), skipped.end(), layer::kJail) != skipped.end();
}

Result<std::vector<ProbeResult>> run_self_test(const HostContext& host,
                                               const std::function<void(std::string_view)>& each) {
  LOOM_TRY(const std::unique_ptr<TrialGround> ground, TrialGround::make(host));
  std::vector<ProbeResult> results;
  for (const ProbeCase& probe : probe_cases()) {
    if (each) each(probe.name);
    results.push_back(run_case(*ground, probe));
  }
  return results;
}

}  // namespace loom::helper
