#include "plan/fit.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace loom {
namespace {

struct Ceiling {
  std::string_view name;
  std::uint64_t Limits::*field;
  std::initializer_list<std::string_view> layers;  // any of them holds it
  std::string_view remedy;
};

// Where no directory can be delegated, a ceiling around all of loom remains.
constexpr std::string_view kMemoryRemedy =
    "a delegated cgroup v2 directory would hold it (loom-enforcement(7)), or one ceiling around all of loom "
    "(systemd-run --scope -p MemoryMax=SIZE)";
constexpr std::string_view kTasksRemedy =
    "a delegated cgroup v2 directory would hold it (loom-enforcement(7)), or one ceiling around all of loom "
    "(systemd-run --scope -p TasksMax=N)";
const Ceiling kCeilings[] = {
    {"mem_bytes", &Limits::mem_bytes, {layer::kCgroupV2}, kMemoryRemedy},
    {"pids", &Limits::pids, {layer::kCgroupV2, layer::kPidsUserns}, kTasksRemedy},
    {"cpu_s", &Limits::cpu_s, {layer::kRlimitCpu}, "see loom-exec features"},
    {"fsize_bytes", &Limits::fsize_bytes, {layer::kRlimitFsize}, "see loom-exec features"},
};

bool holds(const Report& features, std::string_view wanted) {
  for (const auto& entry : features) {
    if (layer_of(entry) == wanted) return true;
  }
  return false;
}

// "skip:cgroup-v2: not delegated" gives "cgroup-v2: not delegated".
std::string why_not(const Report& features, std::string_view wanted) {
  const std::string start = "skip:" + std::string(wanted) + ":";
  for (const auto& entry : features) {
    if (entry.compare(0, start.size(), start) == 0) return entry.substr(std::string_view("skip:").size());
  }
  return std::string(wanted) + " is not there";
}

}  // namespace

Fitted fit_to_host(Policy policy, const Report& features) {
  Fitted out;
  for (const auto& ceiling : kCeilings) {
    std::uint64_t& limit = policy.limits.*ceiling.field;
    bool held = limit == 0;
    for (const auto layer : ceiling.layers) held = held || holds(features, layer);
    if (held) continue;
    out.left_out.push_back(std::string(ceiling.name) + "=" + std::to_string(limit) + " is not enforced here (" +
                           why_not(features, *ceiling.layers.begin()) + "); " + std::string(ceiling.remedy));
    limit = 0;
  }
  out.policy = std::move(policy);
  return out;
}

}  // namespace loom
