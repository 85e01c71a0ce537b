// The Landlock ruleset that goes with a mount plan, as data for whoever applies it. Strictly weaker than the mounts,
// never instead of them: it cannot subtract, so frozen and protected paths inside a granted region are the mounts' to
// hold. Our own constants, because the distribution's header stops at ABI 2. Carries out: spec/jail.md "Landlock".
#pragma once

#include <cstdint>
#include <vector>

#include "plan/mount_plan.h"

namespace loom {

namespace landlock {
inline constexpr std::uint64_t kExecute = 1U << 0U;
inline constexpr std::uint64_t kWriteFile = 1U << 1U;
inline constexpr std::uint64_t kReadFile = 1U << 2U;
inline constexpr std::uint64_t kReadDir = 1U << 3U;
inline constexpr std::uint64_t kRemoveDir = 1U << 4U;
inline constexpr std::uint64_t kRemoveFile = 1U << 5U;
inline constexpr std::uint64_t kMakeChar = 1U << 6U;
inline constexpr std::uint64_t kMakeDir = 1U << 7U;
inline constexpr std::uint64_t kMakeRegular = 1U << 8U;
inline constexpr std::uint64_t kMakeSocket = 1U << 9U;
inline constexpr std::uint64_t kMakeFifo = 1U << 10U;
inline constexpr std::uint64_t kMakeBlock = 1U << 11U;
inline constexpr std::uint64_t kMakeSymlink = 1U << 12U;
inline constexpr std::uint64_t kRefer = 1U << 13U;        // ABI 2
inline constexpr std::uint64_t kTruncate = 1U << 14U;     // ABI 3
inline constexpr std::uint64_t kIoctlDevice = 1U << 15U;  // ABI 5
inline constexpr std::uint64_t kResolveUnix = 1U << 16U;  // ABI 9

inline constexpr std::uint64_t kBindTcp = 1U << 0U;     // ABI 4
inline constexpr std::uint64_t kConnectTcp = 1U << 1U;  // ABI 4

inline constexpr std::uint64_t kAbstractSockets = 1U << 0U;  // ABI 6
inline constexpr std::uint64_t kSignals = 1U << 1U;          // ABI 6

inline constexpr int kNewestAbi = 9;  // newer kernels are asked for what this one has
}  // namespace landlock

// The port the bridge listens on in the jail's own loopback (spec/egress.md "How the jail reaches it").
inline constexpr std::uint16_t kProxyPort = 3128;

struct LandlockRule {
  Path path;                 // in the jail
  std::uint64_t access = 0;  // of handled_fs; for a file only what a file can have
  bool optional = false;     // absent: left out
};

struct LandlockPort {
  std::uint16_t port = 0;
  std::uint64_t access = 0;
};

struct LandlockPlan {
  int abi = 0;  // 0: this kernel has none, and all below is empty
  std::uint64_t handled_fs = 0;
  std::uint64_t handled_net = 0;
  std::uint64_t scoped = 0;
  unsigned attribute_bytes = 0;  // how much of the three the ABI's struct has: 8, 16 or 24
  std::vector<LandlockRule> rules;
  std::vector<LandlockPort> ports;
  bool confines_path_sockets = false;  // false: event:path-sockets=unconfined
};

// `abi` is what the kernel answers; more than kNewestAbi counts as that.
[[nodiscard]] LandlockPlan landlock_plan(const MountPlan& plan, NetworkMode network, int abi);
// For a command that stays in the host's tree (degraded): /tmp, /dev/shm and the terminals there are not the jail's
// own, and are not opened.
[[nodiscard]] LandlockPlan landlock_plan_of_host_tree(const MountPlan& plan, NetworkMode network, int abi);

}  // namespace loom
