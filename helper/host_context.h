// What is the same for every execution of one helper process: found once, at start, and never changed
// (spec/jail.md "Parts", "Started by root"). Owns the descriptors of the programs that are started by descriptor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "helper/cgroup.h"
#include "helper/platform.h"
#include "os/unique_fd.h"
#include "plan/report.h"
#include "policy/model.h"

namespace loom::helper {

// The first host id of slot 0's block, and how many ids a block has.
inline constexpr std::uint32_t kJailIdBase = 1879048192;
inline constexpr std::uint32_t kJailIdCount = 65536;
// Who the command is inside a jail that root started.
inline constexpr std::uint32_t kJailUser = 1000;

// Whether the container is tried at once (what hello and features say is then what was seen), or by the first jail (a
// `run` that would otherwise build two).
enum class ProbeWhen { kAtOnce, kByTheFirstJail };
// A cgroup base that was named is only looked at (features), or made ready, which writes to it; one that will not do is
// then an error.
enum class CgroupUse { kLook, kUse };

// How jails are built. kAuto: natively; where that cannot be and the caller is an ordinary user, by bubblewrap.
enum class Backend { kAuto, kNative, kBwrap };

struct HostOptions {
  Platform platform = kThisPlatform;  // tests alone say another
  bool allow_unenforced = false;      // where there is no jail: commands run without one
  Backend backend = Backend::kAuto;
  std::uint32_t jail_uid = kJailIdBase;  // --jail-uid: where the block of a root start begins
  std::string cgroup_base;               // --cgroup-base or LOOM_CGROUP_BASE; "": none
  Path workspace;                        // --workspace, whose owner a root start swaps; "": the first writable root
  ProbeWhen probe = ProbeWhen::kAtOnce;
  CgroupUse cgroup_use = CgroupUse::kUse;
  // How long a jail may take to be built; 0: a minute, less under a short wall_s.
  Duration building{};
  std::string stage2;  // the program's path; "": libexec/loom-stage2 beside the running program
  std::string probes;  // self-test: likewise, libexec/loom-probes
  std::string bridge;  // likewise: libexec/loom-bridge
};

struct HostContext {
  HostOptions options;
  std::uint32_t uid = 0;  // the helper's own
  std::uint32_t gid = 0;
  bool root_start = false;   // uid 0 of the initial user namespace, or of a container
  UniqueFd stage2;           // opened for exec by descriptor
  UniqueFd bridge;           // likewise; only network mode "proxy" needs it
  std::string no_bridge;     // why it is not there, when it is not
  int landlock_abi = 0;      // 0: none
  bool container = false;    // namespaces and the new mount calls work, or bubblewrap does
  bool bwrap = false;        // it is bubblewrap that builds
  std::string no_native;     // then: why the native backend does not
  std::string no_container;  // why not
  std::optional<CgroupBase> cgroups;
  std::string no_cgroup;  // why there is none
  Report features;        // the hello list: tags held now, "skip:TAG: reason" for those that are not
  std::string path;       // the helper's own PATH, for the command's
};

// A program of ours, for exec: in libexec beside the running program in the tree, in ../libexec/loom where it is
// installed; never by a search path. `given` replaces both. Errors: spawn_failed.
[[nodiscard]] Result<UniqueFd> open_own_program(const std::string& given, const std::string& name);

// Looks at the host: opens stage 2, probes what the kernel gives by doing it in a throwaway process. Errors:
// spawn_failed when stage 2 is not there; bad_cgroup_base when the one that was named will not do; bad_argument when
// root asked for bwrap; unsupported_platform where there is no jail and nobody said that this is known.
[[nodiscard]] Result<HostContext> make_host_context(HostOptions options);

}  // namespace loom::helper
