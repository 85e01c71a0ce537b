#include "plan/doctor.h"

#include <algorithm>
#include <charconv>

namespace loom {
namespace {

constexpr int kEperm = 1;
constexpr int kEnosys = 38;
// What each newer Landlock adds that a jail makes use of; before it other layers hold the same, or nothing does.
struct LandlockStep {
  int abi;
  std::string_view adds;
};
constexpr LandlockStep kLandlockSteps[] = {{3, "truncation"},
                                           {4, "TCP by port"},
                                           {5, "device ioctls"},
                                           {6, "abstract sockets and signals"},
                                           {9, "Unix sockets by path"}};

bool holds(const Report& features, std::string_view name) {
  return std::any_of(features.begin(), features.end(), [&](const std::string& e) { return layer_of(e) == name; });
}

std::string reason(const Report& features, std::string_view name) {
  const std::string start = skip_entry(name, "");
  for (const std::string& entry : features) {
    if (entry.compare(0, start.size(), start) == 0) return entry.substr(start.size());
  }
  return "the helper does not have it";
}

// The first two numbers of a release.
std::pair<int, int> version(std::string_view release) {
  int major = 0;
  int minor = 0;
  const auto [end, error] = std::from_chars(release.data(), release.data() + release.size(), major);
  if (error == std::errc() && end != release.data() + release.size() && *end == '.')
    std::from_chars(end + 1, release.data() + release.size(), minor);
  return {major, minor};
}

std::string joined(const std::vector<std::string>& parts, std::string_view between = ", ") {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : between).append(part);
  return text;
}

Finding kernel(const DoctorFacts& facts) {
  Finding finding{"kernel", Health::kHeld, facts.kernel, ""};
  if (version(facts.kernel) >= std::pair(6, 1)) return finding;
  finding.health = Health::kLacking;
  finding.remedy = "loom is made for Linux from 6.1: install a newer kernel";
  return finding;
}

Finding user_namespaces(const DoctorFacts& facts) {
  Finding finding{"user-namespaces", Health::kHeld, "", ""};
  if (holds(facts.features, layer::kNamespaces)) {
    finding.found = "a container can be made";
    return finding;
  }
  finding.health = Health::kLacking;
  finding.found = reason(facts.features, layer::kNamespaces);
  if (facts.max_user_namespaces == std::uint64_t{0}) {
    finding.remedy = "as root: sysctl -w user.max_user_namespaces=10000";
  } else if (!facts.root && facts.unprivileged_userns_clone == std::uint64_t{0}) {
    finding.remedy = "as root: sysctl -w kernel.unprivileged_userns_clone=1";
  } else if (!facts.root && facts.apparmor_restricts_userns == std::uint64_t{1}) {
    finding.remedy =
        "an AppArmor profile for loom-exec with the rule \"userns,\", or as root: sysctl -w "
        "kernel.apparmor_restrict_unprivileged_userns=0";
  } else {
    finding.remedy = "an outer container forbids it: start that with its seccomp filter open for clone and unshare";
  }
  return finding;
}

Finding mount_calls(const DoctorFacts& facts) {
  Finding finding{"mount-api", Health::kHeld, "", ""};
  std::vector<std::string> there;
  std::vector<std::string> missing;
  bool forbidden = false;
  for (const auto& [name, error] : facts.mount_calls) {
    (error == kEnosys || error == kEperm ? missing : there).push_back(name);
    forbidden = forbidden || error == kEperm;
  }
  finding.found = missing.empty() ? joined(there) : "no " + joined(missing, ", no ");
  if (missing.empty()) return finding;
  finding.health = Health::kLacking;
  finding.remedy = forbidden ? "a seccomp filter around this refuses them: start the outer container without it"
                             : "a kernel from 6.1, or an outer container whose seccomp filter knows these calls";
  return finding;
}

// A jail's own /proc can only be mounted where the one it is made from is wholly visible.
Finding proc(const DoctorFacts& facts) {
  Finding finding{"proc", Health::kHeld, "nothing is mounted over it", ""};
  if (!facts.over_proc.empty()) finding.found = "mounted over: " + joined(facts.over_proc);
  if (facts.over_proc.empty() || holds(facts.features, layer::kNamespaces)) return finding;
  finding.health = Health::kLacking;
  finding.remedy =
      "in a container, start that with its /proc unmasked (docker: --security-opt systempaths=unconfined; podman: "
      "--security-opt unmask=ALL)";
  return finding;
}

Finding idmapped_mounts(const DoctorFacts& facts) {
  Finding finding{"idmapped-mounts", Health::kNotNeeded, "only a start by root maps the owners of files", ""};
  if (!facts.root) return finding;
  if (facts.trial_ran) {
    finding.health = Health::kHeld;
    finding.found = "the owners of a directory were mapped";
  } else if (facts.trial_fault.find("cannot_idmap") != std::string::npos) {
    finding.health = Health::kLacking;
    finding.found = facts.trial_fault;
    finding.remedy = "a workspace on ext4, xfs or btrfs (tmpfs from 6.3), or a start by an ordinary user";
  } else {
    finding.found = "not seen: no jail could be built";
  }
  return finding;
}

Finding landlock(const DoctorFacts& facts) {
  Finding finding{"landlock", Health::kHeld, "", ""};
  constexpr std::string_view kStart = "landlock:abi=";
  int abi = 0;
  for (const std::string& entry : facts.features) {
    if (entry.compare(0, kStart.size(), kStart) == 0)
      std::from_chars(entry.data() + kStart.size(), entry.data() + entry.size(), abi);
  }
  if (abi == 0) {
    finding.health = Health::kLacking;
    finding.found = "lsm=" + (facts.lsm.empty() ? "(not to be read)" : facts.lsm);
    finding.remedy = "boot with lsm=landlock," + (facts.lsm.empty() ? "..." : facts.lsm) +
                     " on a kernel that was built with CONFIG_SECURITY_LANDLOCK";
    return finding;
  }
  std::vector<std::string> missing;
  for (const LandlockStep& step : kLandlockSteps) {
    if (abi < step.abi) missing.emplace_back(std::string(step.adds) + " (" + std::to_string(step.abi) + ")");
  }
  finding.found = "ABI " + std::to_string(abi) + (missing.empty() ? "" : "; a newer one also knows " + joined(missing));
  if (abi < kLandlockSteps[3].abi) finding.health = Health::kWeaker;
  return finding;
}

Finding seccomp(const DoctorFacts& facts) {
  Finding finding{"seccomp", Health::kHeld, "", ""};
  if (holds(facts.features, layer::kSeccompBase) && holds(facts.features, layer::kSeccompNet)) {
    finding.found = "filters can be loaded";
    return finding;
  }
  finding.health = Health::kLacking;
  finding.found = reason(facts.features, layer::kSeccompBase);
  finding.remedy = "a kernel that was built with CONFIG_SECCOMP_FILTER";
  return finding;
}

// The nearest cgroup above this process that a service manager has delegated to its user, as systemd names it.
std::string user_manager(const DoctorFacts& facts) {
  const std::string name = "/user@" + std::to_string(facts.uid) + ".service";
  const std::size_t at = facts.own_cgroup.find(name);
  return at == std::string::npos ? "" : facts.own_cgroup.substr(0, at + name.size());
}

std::string delegate(const DoctorFacts& facts) {
  switch (facts.cgroups) {
    case CgroupLayout::kNone:
      return "mount a cgroup2 file system, or put a ceiling around all of loom";
    case CgroupLayout::kLegacy:
    case CgroupLayout::kHybrid:
      return "memory and pids are controllers of cgroup v1 here: boot with systemd.unified_cgroup_hierarchy=1, or put "
             "a "
             "ceiling around all of loom";
    case CgroupLayout::kUnified:
      break;
  }
  if (facts.root)
    return "echo '+memory +pids' > /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/loom; "
           "LOOM_CGROUP_BASE=/sys/fs/cgroup/loom";
  const std::string manager = user_manager(facts);
  if (!manager.empty()) {
    const std::string base = "/sys/fs/cgroup" + manager + "/loom";
    return "mkdir " + base + "; LOOM_CGROUP_BASE=" + base;
  }
  const std::string number = std::to_string(facts.uid);
  return "start loom below the user's own service manager (systemd-run --user --scope), with LOOM_CGROUP_BASE naming a "
         "directory made in /sys/fs/cgroup/user.slice/user-" +
         number + ".slice/user@" + number + ".service";
}

Finding cgroups(const DoctorFacts& facts) {
  Finding finding{"cgroup-v2", Health::kHeld, facts.cgroup_base, ""};
  if (holds(facts.features, layer::kCgroupV2)) return finding;
  finding.health = Health::kLacking;
  finding.found = reason(facts.features, layer::kCgroupV2) + ": no ceiling of memory can be held";
  finding.remedy = delegate(facts);
  return finding;
}

Finding bwrap(const DoctorFacts& facts) {
  Finding finding{"bwrap", Health::kNotNeeded, "", ""};
  const bool native = holds(facts.features, layer::kNamespaces);
  if (!facts.bwrap) {
    finding.found = "not installed";
    if (!native && !facts.root)
      finding.remedy = "install bubblewrap: where it is set up to, it can make what we cannot";
    return finding;
  }
  finding.found = facts.bwrap_version;
  if (!facts.bwrap_faults.empty()) finding.found += "; it " + joined(facts.bwrap_faults, ", it ");
  if (holds(facts.features, layer::kBwrap)) {
    finding.health = Health::kWeaker;
    finding.found += "; it stands in for the native backend, its faults worked around";
    return finding;
  }
  if (facts.root || native) finding.found += native ? "; the native backend is there" : "; it is for ordinary users";
  return finding;
}

Finding jail(const DoctorFacts& facts) {
  if (facts.trial_ran) return {"jail", Health::kHeld, "one was built, seen from inside, and ended", ""};
  return {"jail", Health::kLacking, facts.trial_fault, "see what is lacking above"};
}

}  // namespace

std::string_view to_text(Health health) {
  switch (health) {
    case Health::kHeld:
      return "held";
    case Health::kWeaker:
      return "weaker";
    case Health::kLacking:
      return "lacking";
    case Health::kNotNeeded:
      return "not needed";
  }
  return "";
}

std::vector<Finding> examine(const DoctorFacts& facts) {
  return {kernel(facts),   user_namespaces(facts), mount_calls(facts), proc(facts),  idmapped_mounts(facts),
          landlock(facts), seccomp(facts),         cgroups(facts),     bwrap(facts), jail(facts)};
}

}  // namespace loom
