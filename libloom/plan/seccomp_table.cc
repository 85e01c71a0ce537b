#include "plan/seccomp_table.h"

#include <algorithm>

namespace loom {
namespace {

constexpr std::uint32_t kAllBits = 0xffffffff;

// Flags and requests, by their kernel values.
constexpr std::uint32_t kNamespaceFlags[] = {0x00020000, 0x02000000, 0x04000000, 0x08000000,
                                             0x10000000, 0x20000000, 0x40000000};  // NS CGROUP UTS IPC USER PID NET
constexpr std::uint32_t kNewTime = 0x00000080;  // of unshare; in clone these bits are the exit signal
constexpr std::uint32_t kSetIds = 06000;        // S_ISUID | S_ISGID
constexpr std::uint32_t kCreates = 0x00400040;  // O_CREAT | the bit that is O_TMPFILE's own
constexpr std::uint32_t kTiocsti = 0x5412;
constexpr std::uint32_t kTioclinux = 0x541c;

constexpr std::uint32_t kUnix = 1;
constexpr std::uint32_t kInet = 2;
constexpr std::uint32_t kInet6 = 10;
constexpr std::uint32_t kNetlink = 16;
constexpr std::uint32_t kPacket = 17;
constexpr std::uint32_t kTypeMask = 0xf;  // below SOCK_NONBLOCK and SOCK_CLOEXEC
constexpr std::uint32_t kStream = 1;
constexpr std::uint32_t kTcp = 6;
constexpr std::uint32_t kNetlinkRoute = 0;

using Values = SmallList<std::uint32_t, 4>;

ArgTest is(unsigned index, std::uint32_t value) {
  return {index, kAllBits, true, {value}};
}
ArgTest one_of(unsigned index, const Values& values) {
  return {index, kAllBits, true, values};
}
ArgTest none_of(unsigned index, const Values& values) {
  return {index, kAllBits, false, values};
}
ArgTest any_bit(unsigned index, std::uint32_t bits) {
  return {index, bits, false, {0}};
}

using Rows = std::vector<SeccompRow>;

void refuse(Rows& rows, std::string_view reason, std::initializer_list<SeccompRow> calls) {
  for (const SeccompRow& row : calls) {
    rows.push_back(row);
    rows.back().reason = reason;
  }
}

SeccompRow call(std::string_view name, int x86_64, int arm64, int error = kEperm) {
  SeccompRow row;
  row.name = name;
  row.x86_64 = x86_64;
  row.arm64 = arm64;
  row.error = error;
  return row;
}

SeccompRow call_if(std::string_view name, int x86_64, int arm64, const SmallList<ArgTest, 2>& tests) {
  SeccompRow row = call(name, x86_64, arm64);
  row.tests = tests;
  return row;
}

// First, because these are the calls every program makes and the filter asks in this order.
void set_id_modes(Rows& rows) {
  refuse(rows, "a set-id file made in a root would act on the host",
         {call_if("openat", 257, 56, {any_bit(2, kCreates), any_bit(3, kSetIds)}),
          call_if("open", 2, -1, {any_bit(1, kCreates), any_bit(2, kSetIds)}),
          call_if("chmod", 90, -1, {any_bit(1, kSetIds)}), call_if("fchmod", 91, 52, {any_bit(1, kSetIds)}),
          call_if("fchmodat", 268, 53, {any_bit(2, kSetIds)}), call_if("fchmodat2", 452, 452, {any_bit(2, kSetIds)}),
          call_if("creat", 85, -1, {any_bit(1, kSetIds)}), call_if("mknod", 133, -1, {any_bit(1, kSetIds)}),
          call_if("mknodat", 259, 33, {any_bit(2, kSetIds)})});
  refuse(rows, "its mode lies in memory, where a filter cannot read it; callers fall back to openat",
         {call("openat2", 437, 437, kEnosys)});
}

void terminals(Rows& rows) {
  refuse(rows, "types into the terminal of whoever started the jail",
         {call_if("ioctl", 16, 29, {is(1, kTiocsti)}), call_if("ioctl", 16, 29, {is(1, kTioclinux)})});
  refuse(rows, "hangs up the terminal", {call("vhangup", 153, 58)});
}

void namespaces(Rows& rows) {
  for (const std::uint32_t flag : kNamespaceFlags) {
    refuse(rows, "a namespace of its own would give the command capabilities in it",
           {call_if("clone", 56, 220, {any_bit(0, flag)}), call_if("unshare", 272, 97, {any_bit(0, flag)})});
  }
  refuse(rows, "a namespace of its own would give the command capabilities in it",
         {call_if("unshare", 272, 97, {any_bit(0, kNewTime)}), call("setns", 308, 268)});
  refuse(rows, "its flags lie in memory, where a filter cannot read them; callers fall back to clone",
         {call("clone3", 435, 435, kEnosys)});
}

void mounts(Rows& rows) {
  refuse(rows, "changes what the mounts hold",
         {call("mount", 165, 40), call("umount2", 166, 39), call("pivot_root", 155, 41), call("chroot", 161, 51),
          call("open_tree", 428, 428), call("move_mount", 429, 429), call("fsopen", 430, 430),
          call("fsconfig", 431, 431), call("fsmount", 432, 432), call("fspick", 433, 433),
          call("mount_setattr", 442, 442), call("open_tree_attr", 467, 467)});
  refuse(rows, "opens files by number, past every mount", {call("open_by_handle_at", 304, 265)});
}

void kernel_surface(Rows& rows) {
  refuse(rows, "makes sockets and opens files past this very filter",
         {call("io_uring_setup", 425, 425), call("io_uring_enter", 426, 426), call("io_uring_register", 427, 427)});
  refuse(rows, "stalls the kernel in the middle of a copy, which turns races into certainties",
         {call("userfaultfd", 323, 282)});
  refuse(rows, "keyrings are the host's and belong to no namespace",
         {call("add_key", 248, 217), call("request_key", 249, 218), call("keyctl", 250, 219)});
  refuse(rows, "loads programs into the kernel", {call("bpf", 321, 280)});
  refuse(rows, "watches what other processes and the kernel do",
         {call("perf_event_open", 298, 241), call("fanotify_init", 300, 262), call("fanotify_mark", 301, 263),
          call("syslog", 103, 116)});
  refuse(rows, "rarely used, often at fault", {call("modify_ldt", 154, -1)});
}

void machine_wide(Rows& rows) {
  refuse(rows, "acts on the whole machine",
         {call("init_module", 175, 105), call("finit_module", 313, 273), call("delete_module", 176, 106),
          call("kexec_load", 246, 104), call("kexec_file_load", 320, 294), call("reboot", 169, 142),
          call("swapon", 167, 224), call("swapoff", 168, 225), call("quotactl", 179, 60), call("quotactl_fd", 443, 443),
          call("acct", 163, 89), call("iopl", 172, -1), call("ioperm", 173, -1)});
}

// It is the jail's second process, and of the command's own user. What reaches it all the same (a signal to all) ends
// it, and closes the way out.
void bridge(Rows& rows) {
  constexpr std::uint32_t kItsGroup = 0xfffffffe;
  refuse(
      rows, "the bridge to the proxy is not the command's to end or to starve",
      {call_if("kill", 62, 129, {one_of(0, {kBridgePid, kItsGroup})}), call_if("tkill", 200, 130, {is(0, kBridgePid)}),
       call_if("tgkill", 234, 131, {is(1, kBridgePid)}), call_if("rt_sigqueueinfo", 129, 138, {is(0, kBridgePid)}),
       call_if("rt_tgsigqueueinfo", 297, 240, {is(1, kBridgePid)}),
       call_if("pidfd_open", 434, 434, {is(0, kBridgePid)}), call_if("ptrace", 101, 117, {is(1, kBridgePid)}),
       call_if("prlimit64", 302, 261, {is(0, kBridgePid)})});
}

void other_processes(Rows& rows, bool pid_namespace) {
  refuse(rows, "the jail's init would fall to a limit set from inside", {call_if("prlimit64", 302, 261, {is(0, 1)})});
  // PRIO_PROCESS and PRIO_PGRP are 0 and 1, of ioprio_set 1 and 2; what names a user names init with all others.
  refuse(rows, "the jail's init would be put behind everything that runs",
         {call_if("setpriority", 141, 140, {one_of(0, {0, 1}), is(1, 1)}), call_if("setpriority", 141, 140, {is(0, 2)}),
          call_if("ioprio_set", 251, 30, {one_of(0, {1, 2}), is(1, 1)}), call_if("ioprio_set", 251, 30, {is(0, 3)}),
          call_if("sched_setparam", 142, 118, {is(0, 1)}), call_if("sched_setscheduler", 144, 119, {is(0, 1)}),
          call_if("sched_setaffinity", 203, 122, {is(0, 1)}), call_if("sched_setattr", 314, 274, {is(0, 1)})});
  if (pid_namespace) return;
  refuse(rows, "no pid namespace bounds whom it reaches",
         {call("ptrace", 101, 117), call("process_vm_readv", 310, 270), call("process_vm_writev", 311, 271),
          call("pidfd_getfd", 438, 438), call("kcmp", 312, 272)});
}

void sockets(Rows& rows, NetworkMode mode) {
  const std::size_t first = rows.size();
  Values families = {kUnix};
  if (mode != NetworkMode::kOff) {
    families.push_back(kInet);
    families.push_back(kInet6);
  }
  if (mode == NetworkMode::kFull) families.push_back(kNetlink);
  refuse(rows, "no socket family but those of the network mode",
         {call_if("socket", 41, 198, {none_of(0, families)}), call_if("socketpair", 53, 199, {none_of(0, families)})});
  if (mode == NetworkMode::kProxy) {
    refuse(rows, "the way out is a stream to the proxy",
           {call_if("socket", 41, 198, {one_of(0, {kInet, kInet6}), {1, kTypeMask, false, {kStream}}}),
            call_if("socket", 41, 198, {one_of(0, {kInet, kInet6}), none_of(2, {0, kTcp})})});
  }
  if (mode == NetworkMode::kFull) {
    refuse(rows, "of netlink only the list of addresses and routes",
           {call_if("socket", 41, 198, {is(0, kNetlink), none_of(2, {kNetlinkRoute})}),
            call_if("socketpair", 53, 199, {is(0, kNetlink), none_of(2, {kNetlinkRoute})})});
  }
  for (auto row = rows.begin() + static_cast<std::ptrdiff_t>(first); row != rows.end(); ++row) {
    row->net = true;
    row->error = kEafnosupport;
  }
}

}  // namespace

std::vector<SeccompRow> seccomp_table(const SeccompScope& scope) {
  Rows rows;
  rows.reserve(128);
  set_id_modes(rows);
  terminals(rows);
  namespaces(rows);
  sockets(rows, scope.network);
  if (scope.network == NetworkMode::kProxy && scope.pid_namespace) bridge(rows);
  other_processes(rows, scope.pid_namespace);
  mounts(rows);
  kernel_surface(rows);
  machine_wide(rows);
  return rows;
}

const SeccompRow* refusing_row(const std::vector<SeccompRow>& rows, Machine machine, int number,
                               const std::array<std::uint32_t, 6>& args) {
  const auto holds = [&args](const ArgTest& test) {
    const std::uint32_t value = args.at(test.index) & test.mask;
    return (std::find(test.values.begin(), test.values.end(), value) != test.values.end()) == test.in;
  };
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SeccompRow& row) {
    return number_on(row, machine) == number && std::all_of(row.tests.begin(), row.tests.end(), holds);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<SeccompProbe> seccomp_probes(const SeccompScope& scope, Machine machine) {
  const bool x86 = machine == Machine::kX86_64;
  constexpr std::uint64_t kNoSuchOperation = 0xffff;
  constexpr std::uint64_t kNoSuchFlags = 0xffffff00;  // of a socket's type: EINVAL before the family is looked up
  std::vector<SeccompProbe> probes = {
      {"keyctl", false, x86 ? 250 : 219, kEperm, {kNoSuchOperation, 0, 0}},  // else EOPNOTSUPP
      {"clone3", false, 435, kEnosys, {0, 0, 0}},                            // else EINVAL
      {"socket", true, x86 ? 41 : 198, kEafnosupport, {kPacket, kNoSuchFlags, 0}},
  };
  if (scope.network == NetworkMode::kOff) {
    probes.push_back({"socket", true, x86 ? 41 : 198, kEafnosupport, {kInet, kNoSuchFlags, 0}});
  }
  return probes;
}

}  // namespace loom
