// What a host lacks for full enforcement, and what to do about each: judged from facts that were read or seen elsewhere
// (spec/cli.md "loom-census doctor"). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/report.h"

namespace loom {

enum class CgroupLayout { kNone, kLegacy, kHybrid, kUnified };

// A number in /proc/sys; nullopt: this kernel has no such file.
using Sysctl = std::optional<std::uint64_t>;

struct DoctorFacts {
  bool root = false;
  std::uint32_t uid = 0;
  std::string kernel;  // "6.1.0-57-cloud-amd64"
  Sysctl max_user_namespaces;
  Sysctl unprivileged_userns_clone;
  Sysctl apparmor_restricts_userns;
  // What the kernel answered to calls that could not succeed: ENOSYS and EPERM mean that there is none to be had.
  std::vector<std::pair<std::string, int>> mount_calls;
  std::vector<std::string> over_proc;  // what is mounted over parts of /proc
  std::string lsm;                     // /sys/kernel/security/lsm
  CgroupLayout cgroups = CgroupLayout::kNone;
  std::string own_cgroup;   // "/user.slice/..."; "" when it is not known
  std::string cgroup_base;  // the one that was named, or ""

  Report features;  // of the helper that was asked
  // One jail that was built, run and ended, with a demand for all: its report, or why there was none.
  bool trial_ran = false;
  std::string trial_fault;

  bool bwrap = false;
  std::string bwrap_version;              // "bubblewrap 0.8.0"
  std::vector<std::string> bwrap_faults;  // seen just now, one phrase each
};

enum class Health { kHeld, kWeaker, kLacking, kNotNeeded };
[[nodiscard]] std::string_view to_text(Health health);  // "held", "weaker", "lacking", "not needed"

struct Finding {
  std::string check;  // stable: kernel, user-namespaces, mount-api, proc, idmapped-mounts, landlock, ...
  Health health = Health::kHeld;
  std::string found;
  std::string remedy;  // "" where there is nothing to do
};
[[nodiscard]] std::vector<Finding> examine(const DoctorFacts& facts);

}  // namespace loom
