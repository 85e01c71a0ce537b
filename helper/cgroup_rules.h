// What is decided about cgroup v2, without touching any: whether a directory may serve as a base, what an execution's
// own cgroup is told, whether that holds, what its counters say, what of dead helpers may go (spec/jail.md "cgroup
// v2"). Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/model.h"

namespace loom::helper {

// What was read of a base, before any of it is believed. Texts are whole files; an absent file is nullopt.
struct CgroupBaseFacts {
  bool is_cgroup2 = false;
  std::optional<std::string> type;         // cgroup.type; the root of all has none
  std::optional<std::string> controllers;  // cgroup.controllers: what may be switched on below
  std::optional<std::string> enabled;      // cgroup.subtree_control: what is
  std::optional<std::string> processes;    // cgroup.procs
  bool may_make = false;                   // directories in it
  bool may_enable = false;                 // write its cgroup.subtree_control
  bool may_enter = false;                  // move a process from where this one is to below the base
};
// "" when it will do, else the reason as a sentence fragment without the path.
[[nodiscard]] std::string judge_cgroup_base(const CgroupBaseFacts& facts);
// What is to be written to cgroup.subtree_control: "" when both controllers are on already.
[[nodiscard]] std::string controllers_to_enable(std::string_view enabled);

// Whether this policy has a ceiling that a cgroup holds or counts.
[[nodiscard]] bool wants_cgroup(const Limits& limits);
// "mem_bytes", "pids" of those that are asked for.
[[nodiscard]] std::vector<std::string> cgroup_ceilings(const Limits& limits);

// One file of an execution's cgroup. pids.max has room for the jail's own processes, `own` of them, which no caller
// counts.
struct CgroupSetting {
  std::string file;
  std::string value;
  bool where_there = false;  // its absence is no fault: a kernel without swap accounting
  friend bool operator==(const CgroupSetting&, const CgroupSetting&) = default;
};
[[nodiscard]] std::vector<CgroupSetting> cgroup_settings(const Limits& limits, unsigned own);
// Whether what the kernel shows is at most what was asked: it rounds memory down to a page and says "max" for what is
// past all counting.
[[nodiscard]] bool setting_holds(std::string_view asked, std::string_view shown, std::uint64_t page);

// exec-ID-PID: the directory of one execution of the helper PID.
struct CgroupName {
  unsigned id = 0;
  pid_t helper = 0;
};
[[nodiscard]] std::string to_text(const CgroupName& name);
[[nodiscard]] std::optional<CgroupName> parse_cgroup_name(std::string_view name);
// Whether it is left over: its helper is no more (or is the one that asks, at its start), and nothing lives in it.
[[nodiscard]] bool is_stale_cgroup(std::string_view name, bool helper_lives, std::string_view events);

// The number after KEY in a file of "KEY NUMBER" lines (memory.events, cpu.stat, cgroup.events).
[[nodiscard]] std::optional<std::uint64_t> counter_of(std::string_view file, std::string_view key);
// Whether a list of process ids, one a line, has this one; how many it has.
[[nodiscard]] bool lists_process(std::string_view processes, pid_t pid);
[[nodiscard]] unsigned count_processes(std::string_view processes);

// The cgroup v2 path of /proc/PID/cgroup ("0::/a/b" gives "/a/b"); nullopt where there is no such line.
[[nodiscard]] std::optional<std::string> own_cgroup(std::string_view proc_cgroup);
// The path of the deepest cgroup that holds both; paths as the kernel tells them ("/", "/a/b").
[[nodiscard]] std::string common_cgroup(std::string_view one, std::string_view other);

// Where a cgroup v2 hierarchy is mounted, and which of its cgroups is seen there.
struct CgroupMount {
  std::string root;
  std::string point;
};
// The cgroup v2 mount that `path` is below, from /proc/self/mountinfo.
[[nodiscard]] std::optional<CgroupMount> mount_of_cgroup(std::string_view mountinfo, std::string_view path);
// The directory of the deepest cgroup above both the base and a process in `own` (as own_cgroup tells it): who may not
// write its cgroup.procs cannot go from one to the other. nullopt: it is not to be seen in this mount.
[[nodiscard]] std::optional<std::string> meeting_place(const CgroupMount& mount, std::string_view base,
                                                       std::string_view own);

// When to look at the tree's processor time next: it cannot be past its limit before this, on so many processors.
// Never sooner than 10 ms, so that a tree at its limit does not keep the helper busy.
[[nodiscard]] Duration next_cpu_look(std::uint64_t used_us, std::uint64_t limit_us, unsigned processors);

}  // namespace loom::helper
