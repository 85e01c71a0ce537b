// The vocabulary of the enforcement report: tags, what a policy requires, what a report lacks (spec/jail.md "Layers and
// the report").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model.h"

namespace loom {

enum class Demand { kBestEffort, kPlatform, kFull };  // in order of strictness

[[nodiscard]] std::string_view to_text(Demand demand);  // "best_effort", "platform", "full"
[[nodiscard]] bool parse_demand(std::string_view text, Demand& demand);

// Layer names (an entry's text up to the first ':' or '=').
namespace layer {
inline constexpr std::string_view kNamespaces = "namespaces";
inline constexpr std::string_view kBwrap = "bwrap";
inline constexpr std::string_view kMounts = "mounts";
inline constexpr std::string_view kUnprivileged = "unprivileged";
inline constexpr std::string_view kNoNewPrivs = "no-new-privs";
inline constexpr std::string_view kLandlock = "landlock";
inline constexpr std::string_view kSeccompBase = "seccomp-base";
inline constexpr std::string_view kSeccompNet = "seccomp-net";
inline constexpr std::string_view kCgroupV2 = "cgroup-v2";
inline constexpr std::string_view kPidsUserns = "pids-userns";
inline constexpr std::string_view kRlimitCpu = "rlimit-cpu";
inline constexpr std::string_view kRlimitFsize = "rlimit-fsize";
inline constexpr std::string_view kRlimitCore = "rlimit-core";
inline constexpr std::string_view kEgressProxy = "egress-proxy";
inline constexpr std::string_view kJail = "jail";  // only ever skipped: the platform has none
}  // namespace layer

using Report =
    std::vector<std::string>;  // entries in order: tags, "skip:TAG: reason", "verified:TAG", "event:...", "denied:..."

[[nodiscard]] std::string_view layer_of(
    std::string_view entry);  // "landlock" of "landlock:abi=7"; "" for skip:, verified:, event:, denied:, attempt:
[[nodiscard]] std::string skip_entry(std::string_view tag, std::string_view reason);

// What this policy asks of a helper with these hello features. Names, in the table's order.
[[nodiscard]] std::vector<std::string> required_layers(const Policy& policy, const Report& features);
// The layers a report says were not applied (its skips), in order, each once.
[[nodiscard]] std::vector<std::string> unapplied_layers(const Report& report);

// The processor time of all that ran, from event:cpu-us=N; 0 where the report says none.
[[nodiscard]] std::uint64_t reported_cpu_us(const Report& report);

struct Shortfall {
  std::vector<std::string> missing;  // required and not in the report: a layer that says nothing was not applied
  std::vector<std::string>
      skipped;  // whole: the skip entries, and hardlink-alias events, which a full demand refuses too
  [[nodiscard]] bool none() const { return missing.empty() && skipped.empty(); }
  [[nodiscard]] std::string text() const;  // "missing landlock; skip:mounts: /ws: ..." for errors; "" for none
};
// What a refusal says of hardlink-alias events beside their names: "; frozen[0]: /ws/f: has another name, ..."; ""
// where there are none.
[[nodiscard]] std::string words_of_aliases(const Policy& policy, const Shortfall& shortfall);

// The report held against the demand. Empty: the demand is met. `degraded`: no container was built.
// full: every required layer, no skip, not degraded. platform: the same where the platform has a jail; nothing where
// its features lead with skip:jail. best_effort: nothing. A skip of cgroup-v2 does not count where pids-userns stands
// for it.
[[nodiscard]] Shortfall judge_report(const Policy& policy, const Report& features, const Report& report, bool degraded,
                                     Demand demand);

}  // namespace loom
