// What the helper and stage 2 say to each other: fixed structures on a SOCK_SEQPACKET pair, and the orders, a memfd of
// tagged records. Both sides are of one build (stage 2 is opened beside the helper), so there is no version to
// negotiate; the magic, which
// changes with anything below it, catches a mixed installation. No libc in here: stage 2 has none. Carries out:
// spec/jail.md "Stage 2".
#pragma once

#include <cstdint>

namespace loom::stage2 {

// The descriptors that cross the exec of stage 2, and nothing else does.
inline constexpr int kControlFd = 3;
inline constexpr int kWitnessFd = 4;  // a detached directory that holds kWitnessFile; absent in a degraded jail

inline constexpr char kWitnessFile[] = "witness";
inline constexpr std::uint32_t kMagic = 0x4c4f4f33;

enum class ToStage2 : std::uint32_t { kOrders = 1, kGo, kTerminate };
// Each message wakes the helper, and a wake-up costs more than most of what a jail is made of: there is none that it
// could do without. Whoever builds puts the orders into the socket itself, by the helper's end.
enum class FromStage2 : std::uint32_t {
  kRefused = 1,  // from the builder: nothing was built; code, where, what, hint follow, NUL-terminated
  kJail,         // from the builder's first part, with the pidfd of the jail's process
  kPty,          // with the terminal's master
  kReport,       // Report; with the policy's orders when a mount check failed
  kExecFailed,   // ExecFailed
  kEnded,        // Ended: the command ended, what it left did not yet
  kLeft,         // Left: the last word
};

struct Plain {
  std::uint32_t type;
};

// What stage 2 looked at; a bit each in Report::seen, an errno each in Report::error.
enum Witness : std::uint32_t {
  kSawNamespaces,
  kSawMounts,
  kSawUnprivileged,
  kSawNoNewPrivs,
  kSawLandlock,
  kSawSeccompBase,
  kSawSeccompNet,
  kSawPids,
  kSawCpu,
  kSawFsize,
  kSawCore,
  kWitnessCount,
};

inline constexpr unsigned kMountClasses = 8;       // the counters of the mounts tag, by MountClass
inline constexpr unsigned kReportedFailures = 64;  // mount checks named one by one; the rest is counted

enum MountClass : std::uint32_t {
  kClassRo,
  kClassRw,
  kClassFrozen,
  kClassMask,
  kClassPin,
  kClassBindRo,
  kClassBindRw,
  kClassOther
};

struct Report {
  std::uint32_t type;
  std::uint32_t seen;
  std::int32_t error[kWitnessCount];
  std::uint32_t landlock_abi;
  std::uint32_t mounts[kMountClasses];      // checks that held, by class
  std::uint32_t failures;                   // mount checks that did not
  std::uint32_t failed[kReportedFailures];  // their numbers in the orders, the first ones
  std::uint64_t namespaces[7];              // inodes of user mnt pid ipc uts cgroup net, as seen from inside
};

enum class ExecFault : std::uint32_t {
  kSetup = 1,
  kCwd,
  kNotFound,
  kPermission,
  kInterpreter,
  kFormat,
  kTooBig,
  kOther
};

struct ExecFailed {
  std::uint32_t type;
  ExecFault fault;
  std::int32_t error;  // errno
  char path[4096];     // what was tried, cut to fit, NUL-terminated; the message may be shorter than the structure
};

struct Ended {
  std::uint32_t type;
  std::int32_t status;  // as wait4 gave it
};

struct Left {
  std::uint32_t type;
  std::uint32_t killed;  // processes that outlived the command and the grace they had
  std::uint64_t cpu_us;  // of everything that was reaped
  std::uint32_t ended;   // 1: status is the command's, as in Ended
  std::int32_t status;
};

// Orders: a magic, then records {tag, length of the body} padded to 8 bytes.
enum class Tag : std::uint32_t {
  kSetup = 1,     // Setup
  kSeccomp,       // sock_filter[]
  kSeccompProbe,  // SeccompProbe
  kLandlock,      // Landlock
  kLandlockRule,  // LandlockRule, then the path, NUL-terminated
  kLandlockPort,  // LandlockPort
  kMountCheck,    // MountCheck, then the path, NUL-terminated
  kArgv,          // strings, each NUL-terminated
  kEnv,           // likewise
  kCwd,           // one string
  kRlimit,        // Rlimit
  kTty,           // Tty
};

struct Record {
  Tag tag;
  std::uint32_t length;
};

struct Setup {
  std::uint32_t container;   // 0: degraded, stage 2 is not pid 1 of its own namespace
  std::uint32_t jail_id;     // the uid inside
  std::uint32_t map_inside;  // what /proc/self/uid_map must say
  std::uint32_t map_outside;
  std::uint32_t map_count;
};

struct SeccompProbe {  // one refused call; harmless where it is not refused
  std::uint32_t net;   // 0: a witness of seccomp-base, 1: of seccomp-net
  std::uint32_t number;
  std::int32_t error;
  std::uint32_t pad;
  std::uint64_t args[3];
};

struct Landlock {  // the ruleset, as the kernel takes it
  std::uint64_t fs;
  std::uint64_t net;
  std::uint64_t scoped;
  std::uint32_t size;  // how much of the three this ABI knows
  std::uint32_t abi;
};

struct LandlockRule {
  std::uint64_t access;
};

struct LandlockPort {  // as the kernel takes it
  std::uint64_t access;
  std::uint64_t port;
};

enum class Expect : std::uint32_t { kReadOnly = 1, kReadWrite, kMaskDir, kMaskFile, kHidden };

struct MountCheck {
  std::uint32_t mount_class;
  Expect expect;
  std::uint64_t device;  // 0: not asked
  std::uint64_t inode;
};

struct Rlimit {
  std::uint32_t resource;
  std::uint32_t witness;
  std::uint64_t value;  // soft and hard; processor time: hard is a second more
};

struct Tty {
  std::uint16_t rows;
  std::uint16_t cols;
};

}  // namespace loom::stage2
