#include "plan/report.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "plan/contradictions.h"

namespace loom {
namespace {

constexpr std::string_view kSkip = "skip:";
constexpr std::string_view kVerified = "verified:";
constexpr std::string_view kAlias = "event:hardlink-alias=";

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string_view name_of(std::string_view text) {
  return text.substr(0, text.find_first_of(":="));
}

bool holds(const Report& report, std::string_view name) {
  return std::any_of(report.begin(), report.end(), [&](const std::string& e) { return layer_of(e) == name; });
}

bool skips(const Report& report, std::string_view name) {
  const auto skipped = unapplied_layers(report);
  return std::find(skipped.begin(), skipped.end(), name) != skipped.end();
}

// "7" of "landlock:abi=7"; "" when the report has no such layer or it says nothing of the key.
std::string_view detail_of(const Report& report, std::string_view name, std::string_view key) {
  for (const std::string& entry : report) {
    if (layer_of(entry) != name) continue;
    std::string_view rest = std::string_view(entry).substr(name.size());
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view part = rest.substr(0, rest.find(','));
      if (starts_with(part, key) && part.size() > key.size() && part[key.size()] == '=')
        return part.substr(key.size() + 1);
      rest.remove_prefix(part.size());
    }
  }
  return {};
}

unsigned number_of(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool shows_the_root(const Policy& policy) {
  const auto has = [](const std::vector<Path>& roots) {
    return std::find(roots.begin(), roots.end(), "/") != roots.end();
  };
  return has(policy.readable_roots) || has(policy.writable_roots);
}

std::string doubt(std::string_view name, std::string_view why) {
  return std::string("doubt:").append(name).append(": ").append(why);
}

// Of each layer that is claimed or verified: what its own report and the hello say against it.
void doubt_claims(const Report& features, const Report& report, std::vector<std::string>& doubts) {
  for (const std::string& entry : report) {
    if (starts_with(entry, kVerified)) {
      const std::string_view name = std::string_view(entry).substr(kVerified.size());
      if (!holds(report, name)) doubts.push_back(doubt(name, "verified, and not claimed"));
    }
    const std::string_view name = layer_of(entry);
    if (name.empty()) continue;
    // A way out is made of what the policy names, not of what the host has.
    if (name != layer::kEgressProxy && skips(features, name) && !holds(features, name)) {
      doubts.push_back(doubt(name, "its hello said that it cannot be held here"));
    }
  }
}

bool only_pids_asked(const Limits& limits) {
  return limits.pids != 0 && limits.mem_bytes == 0;
}

// Either container answers for the other's place only in the hello: the report must hold the one that was promised.
std::string_view container_of(const Report& features) {
  const bool bwrap_only = holds(features, layer::kBwrap) && !holds(features, layer::kNamespaces);
  return bwrap_only ? layer::kBwrap : layer::kNamespaces;
}

bool satisfied(const Policy& policy, const Report& report, const std::string& name) {
  if (holds(report, name)) return true;
  // pids alone is held by either of the two, whichever the hello led us to expect.
  const bool either = name == layer::kCgroupV2 || name == layer::kPidsUserns;
  return either && only_pids_asked(policy.limits) &&
         (holds(report, layer::kCgroupV2) || holds(report, layer::kPidsUserns));
}

bool stood_in_for(const Policy& policy, const Report& report, std::string_view skip) {
  return starts_with(skip, "skip:cgroup-v2:") && policy.limits.mem_bytes == 0 && holds(report, layer::kPidsUserns);
}

}  // namespace

std::string_view to_text(Demand demand) {
  switch (demand) {
    case Demand::kBestEffort:
      return "best_effort";
    case Demand::kPlatform:
      return "platform";
    case Demand::kFull:
      return "full";
  }
  return "";
}

bool parse_demand(std::string_view text, Demand& demand) {
  for (const Demand candidate : {Demand::kBestEffort, Demand::kPlatform, Demand::kFull}) {
    if (to_text(candidate) != text) continue;
    demand = candidate;
    return true;
  }
  return false;
}

std::string_view layer_of(std::string_view entry) {
  for (const std::string_view prefix :
       {kSkip, kVerified, std::string_view("event:"), std::string_view("denied:"), std::string_view("attempt:")}) {
    if (starts_with(entry, prefix)) return {};
  }
  return name_of(entry);
}

std::string skip_entry(std::string_view tag, std::string_view reason) {
  return std::string(kSkip).append(tag).append(": ").append(reason);
}

std::vector<std::string> required_layers(const Policy& policy, const Report& features) {
  std::vector<std::string> names;
  const auto require = [&names](std::string_view name) { names.emplace_back(name); };
  for (const std::string_view name : {container_of(features), layer::kMounts, layer::kUnprivileged, layer::kNoNewPrivs,
                                      layer::kLandlock, layer::kSeccompBase, layer::kSeccompNet}) {
    require(name);
  }
  if (only_pids_asked(policy.limits) && holds(features, layer::kPidsUserns)) {
    require(layer::kPidsUserns);
  } else if (policy.limits.mem_bytes != 0 || policy.limits.pids != 0) {
    require(layer::kCgroupV2);
  }
  if (policy.limits.cpu_s != 0) require(layer::kRlimitCpu);
  if (policy.limits.fsize_bytes != 0) require(layer::kRlimitFsize);
  require(layer::kRlimitCore);
  if (policy.network.mode == NetworkMode::kProxy) require(layer::kEgressProxy);
  return names;
}

std::vector<std::string> unapplied_layers(const Report& report) {
  std::vector<std::string> names;
  for (const std::string& entry : report) {
    if (!starts_with(entry, kSkip)) continue;
    std::string name(name_of(std::string_view(entry).substr(kSkip.size())));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> contradictions(const Policy& policy, const Report& features, const Report& report) {
  std::vector<std::string> doubts;
  doubt_claims(features, report, doubts);
  const unsigned promised = number_of(detail_of(features, layer::kLandlock, "abi"));
  if (promised != 0 && number_of(detail_of(report, layer::kLandlock, "abi")) > promised)
    doubts.push_back(doubt(layer::kLandlock, "a newer one than its hello said"));
  for (const std::string_view container : {layer::kNamespaces, layer::kBwrap}) {
    if (detail_of(report, container, "net") == "host" && policy.network.mode != NetworkMode::kFull)
      doubts.push_back(doubt(container, "the host's network, which the policy does not give"));
  }
  if (detail_of(report, layer::kMounts, "base") == "host-view" && !shows_the_root(policy))
    doubts.push_back(doubt(layer::kMounts, "the host's whole tree, which the policy does not name"));
  return doubts;
}

std::string Shortfall::text() const {
  std::string out;
  for (const std::string& name : missing) out += (out.empty() ? "missing " : "; missing ") + name;
  for (const std::string& entry : skipped) out += (out.empty() ? "" : "; ") + entry;
  return out;
}

std::string words_of_aliases(const Policy& policy, const Shortfall& shortfall) {
  std::string out;
  for (const std::string& entry : shortfall.skipped) {
    if (!starts_with(entry, kAlias)) continue;
    const std::string path = entry.substr(kAlias.size());
    for (const auto& [list, name] :
         {std::pair{&policy.frozen, "frozen"}, std::pair{&policy.protected_paths, "protected"}}) {
      const auto at = std::find(list->begin(), list->end(), path);
      if (at == list->end()) continue;
      out += std::string("; ") + name + "[" + std::to_string(at - list->begin()) + "]: " + path +
             ": has another name, and what is done by that one is not held";
    }
  }
  return out;
}

std::uint64_t reported_cpu_us(const Report& report) {
  constexpr std::string_view kPrefix = "event:cpu-us=";
  for (const std::string& entry : report) {
    if (std::string_view(entry).substr(0, kPrefix.size()) != kPrefix) continue;
    std::uint64_t us = 0;
    std::from_chars(entry.data() + kPrefix.size(), entry.data() + entry.size(), us);
    return us;
  }
  return 0;
}

Shortfall judge_report(const Policy& policy, const Report& features, const Report& report, bool degraded,
                       Demand demand) {
  Shortfall shortfall;
  if (demand == Demand::kBestEffort) return shortfall;
  if (demand == Demand::kPlatform && skips(features, layer::kJail)) return shortfall;
  const std::string container(container_of(features));
  for (const std::string& name : required_layers(policy, features)) {
    if (!satisfied(policy, report, name) || (degraded && name == container)) shortfall.missing.push_back(name);
  }
  for (const std::string& entry : report) {
    const bool skip = starts_with(entry, kSkip) && !stood_in_for(policy, report, entry);
    if (skip || starts_with(entry, kAlias)) shortfall.skipped.push_back(entry);
  }
  for (std::string& doubted : contradictions(policy, features, report)) shortfall.skipped.push_back(std::move(doubted));
  return shortfall;
}

}  // namespace loom
