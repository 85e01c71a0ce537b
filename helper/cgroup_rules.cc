#include "helper/cgroup_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace loom::helper {
namespace {

constexpr std::array<std::string_view, 2> kControllers{"memory", "pids"};
// Past this the kernel's counters of pages end, and it shows "max".
constexpr std::uint64_t kPastCounting = std::uint64_t{1} << 62U;
// The most processes a kernel can have, and the most that pids.max takes.
constexpr std::uint64_t kMostProcesses = 4194304;

template <class Each>
void each_word(std::string_view text, std::string_view between, Each each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    if (end > 0) each(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool has_word(std::string_view text, std::string_view word) {
  bool found = false;
  each_word(text, " \n", [&](std::string_view one) { found = found || one == word; });
  return found;
}

std::optional<std::uint64_t> number(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : " and ").append(name);
  return text;
}

std::string missing_controllers(std::string_view controllers) {
  std::vector<std::string_view> missing;
  for (const std::string_view name : kControllers) {
    if (!has_word(controllers, name)) missing.push_back(name);
  }
  return listed(missing);
}

}  // namespace

std::string judge_cgroup_base(const CgroupBaseFacts& facts) {
  if (!facts.is_cgroup2) return "is not on a cgroup v2 file system";
  if (facts.type && *facts.type != "domain\n") return "is of a type that holds no ceiling (cgroup.type is not domain)";
  if (!facts.controllers || !facts.enabled || !facts.processes) return "has not the files of a cgroup";
  if (const std::string missing = missing_controllers(*facts.controllers); !missing.empty()) {
    return "has no " + missing + " controller (its parent's cgroup.subtree_control has to enable it)";
  }
  if (count_processes(*facts.processes) > 0) return "holds processes: name a directory of its own below it";
  if (!facts.may_make) return "is not delegated: no directory can be made in it";
  if (!facts.may_enable && !controllers_to_enable(*facts.enabled).empty()) {
    return "is not delegated: its cgroup.subtree_control cannot be written";
  }
  if (!facts.may_enter) {
    return "cannot be entered from this process's own cgroup: the one above both has to be delegated as well";
  }
  return "";
}

std::string controllers_to_enable(std::string_view enabled) {
  std::string text;
  for (const std::string_view name : kControllers) {
    if (!has_word(enabled, name)) text.append(text.empty() ? "+" : " +").append(name);
  }
  return text;
}

bool wants_cgroup(const Limits& limits) {
  return limits.mem_bytes != 0 || limits.pids != 0 || limits.cpu_s != 0;
}

std::vector<std::string> cgroup_ceilings(const Limits& limits) {
  std::vector<std::string> names;
  if (limits.mem_bytes != 0) names.emplace_back("mem_bytes");
  if (limits.pids != 0) names.emplace_back("pids");
  return names;
}

std::vector<CgroupSetting> cgroup_settings(const Limits& limits, unsigned own) {
  std::vector<CgroupSetting> settings;
  if (limits.mem_bytes != 0) {
    settings.push_back({"memory.max", std::to_string(limits.mem_bytes)});
    // Without this the ceiling would only push the command's memory out to the host's disk.
    settings.push_back({"memory.swap.max", "0", true});
  }
  if (limits.pids != 0) {
    const std::uint64_t most = std::min(limits.pids, kMostProcesses - own) + own;
    settings.push_back({"pids.max", std::to_string(most)});
  }
  return settings;
}

bool setting_holds(std::string_view asked, std::string_view shown, std::uint64_t page) {
  const auto wanted = number(asked);
  if (!wanted) return false;
  while (!shown.empty() && shown.back() == '\n') shown.remove_suffix(1);
  if (shown == "max") return *wanted >= kPastCounting;
  const auto value = number(shown);
  return value && *value <= *wanted && *wanted - *value < page;
}

std::string to_text(const CgroupName& name) {
  return "exec-" + std::to_string(name.id) + "-" + std::to_string(name.helper);
}

std::optional<CgroupName> parse_cgroup_name(std::string_view name) {
  constexpr std::string_view kStart = "exec-";
  if (name.substr(0, kStart.size()) != kStart) return std::nullopt;
  const std::string_view rest = name.substr(kStart.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto id = number(rest.substr(0, dash));
  const auto helper = number(rest.substr(dash + 1));
  if (!id || !helper || *id > std::numeric_limits<unsigned>::max() || *helper == 0 ||
      *helper > static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max()))
    return std::nullopt;
  CgroupName parsed{static_cast<unsigned>(*id), static_cast<pid_t>(*helper)};
  // Only what to_text would have written: "exec-01-2" is somebody else's.
  return to_text(parsed) == name ? std::optional(parsed) : std::nullopt;
}

bool is_stale_cgroup(std::string_view name, bool helper_lives, std::string_view events) {
  return parse_cgroup_name(name) && !helper_lives && counter_of(events, "populated") == std::uint64_t{0};
}

std::optional<std::uint64_t> counter_of(std::string_view file, std::string_view key) {
  std::optional<std::uint64_t> found;
  each_word(file, "\n", [&](std::string_view line) {
    if (line.substr(0, key.size()) == key && line.size() > key.size() && line[key.size()] == ' ')
      found = number(line.substr(key.size() + 1));
  });
  return found;
}

bool lists_process(std::string_view processes, pid_t pid) {
  return has_word(processes, std::to_string(pid));
}

unsigned count_processes(std::string_view processes) {
  unsigned count = 0;
  each_word(processes, "\n", [&](std::string_view) { ++count; });
  return count;
}

std::optional<std::string> own_cgroup(std::string_view proc_cgroup) {
  constexpr std::string_view kUnified = "0::";
  std::optional<std::string> found;
  each_word(proc_cgroup, "\n", [&](std::string_view line) {
    if (line.substr(0, kUnified.size()) == kUnified) found = std::string(line.substr(kUnified.size()));
  });
  return found;
}

std::string common_cgroup(std::string_view one, std::string_view other) {
  std::size_t common = 0;
  for (std::size_t i = 0; i <= std::min(one.size(), other.size()); ++i) {
    const bool ends_one = i == one.size() || one[i] == '/';
    const bool ends_other = i == other.size() || other[i] == '/';
    if (ends_one && ends_other) common = i;
    if (i == one.size() || i == other.size() || one[i] != other[i]) break;
  }
  return common == 0 ? "/" : std::string(one.substr(0, common));
}

std::optional<CgroupMount> mount_of_cgroup(std::string_view mountinfo, std::string_view path) {
  std::optional<CgroupMount> best;
  each_word(mountinfo, "\n", [&](std::string_view line) {
    std::vector<std::string_view> fields;
    each_word(line, " ", [&](std::string_view field) { fields.push_back(field); });
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 2 || *(dash + 1) != "cgroup2") return;
    const std::string_view point = fields[4];
    const bool holds =
        path.substr(0, point.size()) == point && (path.size() == point.size() || path[point.size()] == '/');
    if (holds && (!best || point.size() > best->point.size()))
      best = CgroupMount{std::string(fields[3]), std::string(point)};
  });
  return best;
}

std::optional<std::string> meeting_place(const CgroupMount& mount, std::string_view base, std::string_view own) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  const std::string there = common_cgroup(root + std::string(base.substr(mount.point.size())), own);
  const bool above = there.size() < root.size() || there.compare(0, root.size(), root) != 0;
  if (own.find("/..") != std::string_view::npos || above) return std::nullopt;
  const std::string below = there == "/" ? "" : there.substr(root.size());
  return mount.point + below;
}

Duration next_cpu_look(std::uint64_t used_us, std::uint64_t limit_us, unsigned processors) {
  constexpr std::uint64_t kSoonest = 10;
  constexpr std::uint64_t kLatest = 60'000;
  const std::uint64_t left_us = limit_us > used_us ? limit_us - used_us : 0;
  const std::uint64_t ms = left_us / std::max(processors, 1U) / 1000;
  return milliseconds(static_cast<std::int64_t>(std::clamp(ms, kSoonest, kLatest)));
}

}  // namespace loom::helper
