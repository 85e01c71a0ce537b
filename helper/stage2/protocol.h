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

// The bridge is the first that stage 2 starts, and seccomp knows it by its number (plan/seccomp_table.h).
inline constexpr int kBridgePid = 2;
inline constexpr std::uint16_t kBridgePort = 3128;

inline constexpr char kWitnessFile[] = "witness";
inline constexpr char kBwrapWitness[] = "/.loom-witness";  // the same where bubblewrap made the root
inline constexpr std::uint32_t kMagic = 0x4c4f4f3b;

enum class ToStage2 : std::uint32_t { kOrders = 1, kGo, kTerminate, kStop, kContinue };
// Each message wakes the helper, and a wake-up costs more than most of what a jail is made of: there is none that it
// could do without. Whoever builds puts the orders into the socket itself, by the helper's end.
enum class FromStage2 : std::uint32_t {
  kRefused = 1,  // from the builder: nothing was built; code, where, what, hint follow, NUL-terminated
  kJail,         // from the builder's first part, with the pidfd of the jail's process
  kHeld,         // from the builder, with the locks of the placeholders it has made; their number follows
  kPty,          // with the terminal's master
  kReport,       // Report; with the policy's orders when a mount check failed
  kExecFailed,   // ExecFailed
  kDenied,       // Denied: a refused call, when first seen and once more at the end
  kAttempt,      // Attempt: a file call that the view or the file's mode does not let through
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
  kSawEgress,
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
  std::int32_t why_error;                   // of Watch: why calls cannot be watched here, or 0
  std::uint32_t pad;
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

// What a call needs of a path; kChange: of the directory it lies in.
enum class PathUse : std::uint32_t { kLook, kRead, kWrite, kChange };

// What is said of one kind of refused call: its number and the arguments that the table judges.
struct Denied {
  std::uint32_t type;
  std::uint32_t number;
  std::uint32_t args[4];  // low halves; 0 where the table does not look
  std::uint32_t pid;      // inside, of the first one that made it
  std::uint32_t lost;     // kinds beyond what is remembered, so far
  std::uint64_t count;
  char name[16];  // what that process called itself
};

inline constexpr std::uint32_t kNoCall = 0xffffffff;

struct Attempt {
  std::uint32_t type;
  std::uint32_t number;  // kNoCall: only `lost` is told, at the end
  std::int32_t error;    // what init met when it looked at the path itself
  std::uint32_t pid;
  std::uint32_t lost;  // attempts beyond what is remembered, so far
  PathUse use;
  char name[16];
  char path[4096];  // absolute, as the command wrote it; cut to fit, NUL-terminated; the message may be shorter
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
  kSeccompWatch,  // sock_filter[]: the same refusals, told to init; present when calls are watched
  kWatched,       // Watched
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
  kBridge,        // the proxy's socket as a path in the jail, NUL-terminated; the bridge's two descriptors come last
};

struct Record {
  Tag tag;
  std::uint32_t length;
};

// kNone: degraded, stage 2 is not pid 1 of a namespace. kBwrap: made by bubblewrap.
enum class Container : std::uint32_t { kNone, kNative, kBwrap };

// How much of what the command does is told to init (--why).
enum class Watch : std::uint32_t { kNothing, kCalls, kPaths };

struct IdMap {  // one line of /proc/self/uid_map or gid_map
  std::uint32_t inside;
  std::uint32_t outside;
  std::uint32_t count;
};

struct Setup {
  Container container;
  std::uint32_t jail_id;  // the uid inside
  std::uint32_t jail_group;
  IdMap users;  // the only lines that the two files must have
  IdMap groups;
  std::uint32_t own_groups;  // 1: started by root, whose supplementary groups must all be gone
  Watch watch;
  std::uint32_t host_view;    // a root of "/", or no container: what is absent tells nothing of the view
  std::uint64_t mask_device;  // of the masks; 0: none
};

struct SeccompProbe {  // one refused call; harmless where it is not refused
  std::uint32_t net;   // 0: a witness of seccomp-base, 1: of seccomp-net
  std::uint32_t number;
  std::int32_t error;
  std::uint32_t pad;
  std::uint64_t args[3];
};

// What to do when the filter tells of a call.
inline constexpr std::uint32_t kNoArgument = 0xff;

struct Watched {
  std::uint32_t number;
  std::int32_t error;          // refuse with this; 0: a file call, which goes on
  std::uint32_t looked_at;     // a refusal: a bit for each argument the table judges
  PathUse use;                 // a file call: what it needs of its path
  std::uint32_t path[2];       // which arguments are paths, or kNoArgument
  std::uint32_t directory[2];  // and which the directories they start from
  std::uint32_t flags;         // which argument holds open flags, or kNoArgument; those decide the use
  std::uint32_t pad;
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
