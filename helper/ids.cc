#include "helper/ids.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "helper/host_context.h"
#include "helper/kernel.h"

namespace loom::helper {
namespace {

std::string line(std::uint64_t inside, std::uint64_t outside, std::uint64_t count) {
  return std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) + "\n";
}

Status write_maps(const std::string& process, const std::string& uids, const std::string& gids) {
  LOOM_CHECK(write_once(process + "/uid_map", uids));
  return write_once(process + "/gid_map", gids);
}

// Bound to this process's life by the pidfd's owner: killed and reaped here, whatever happens.
class ParkedChild {
 public:
  explicit ParkedChild(pid_t pid) : pid_(pid) {}
  ~ParkedChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ParkedChild(const ParkedChild&) = delete;
  ParkedChild& operator=(const ParkedChild&) = delete;

 private:
  pid_t pid_;
};

}  // namespace

std::string idmap_lines(std::uint32_t base, bool swap, std::uint32_t owner) {
  if (!swap || owner == kJailUser) return line(0, base, kJailIdCount);
  const std::uint32_t low = std::min(owner, kJailUser);
  const std::uint32_t high = std::min(std::max(owner, kJailUser), kJailIdCount);
  std::string text;
  if (low > 0) text += line(0, base, low);
  if (high > low + 1) text += line(low + 1, std::uint64_t{base} + low + 1, high - low - 1);
  if (kJailIdCount > high + 1) text += line(high + 1, std::uint64_t{base} + high + 1, kJailIdCount - high - 1);
  text += line(owner, std::uint64_t{base} + kJailUser, 1);
  if (owner < kJailIdCount) text += line(kJailUser, std::uint64_t{base} + owner, 1);
  return text;
}

namespace {

// The namespace needs a process only until it is opened: one in this memory, on a stack of its own, which does nothing.
// Its parent may have been killed before it could ask to go with it.
int park(void* parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::syscall(SYS_getppid) != *static_cast<const pid_t*>(parent)) return 0;
  for (;;) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
}

}  // namespace

Result<UniqueFd> make_idmap(const IdBlock& block) {
  alignas(16) static std::array<char, 16U << 10U> stack;
  static pid_t own = 0;
  own = static_cast<pid_t>(::syscall(SYS_getpid));
  const int pid = ::clone(&park, stack.data() + stack.size(), CLONE_NEWUSER | CLONE_VM | SIGCHLD, &own);
  if (pid < 0) return fail(kernel_error("user namespace", "make one for the owners of files", errno));
  const ParkedChild child(pid);
  const std::string process = "/proc/" + std::to_string(pid);
  LOOM_CHECK(write_maps(process, idmap_lines(block.base, block.swap, block.owner.uid),
                        idmap_lines(block.base, block.swap, block.owner.gid)));
  UniqueFd space(::open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) return fail(kernel_error("user namespace", "open it", errno));
  return space;
}

Status map_block(pid_t pid, std::uint32_t base) {
  const std::string whole = line(0, base, kJailIdCount);
  return write_maps("/proc/" + std::to_string(pid), whole, whole);
}

Status map_own_id(std::uint32_t uid, std::uint32_t gid) {
  LOOM_CHECK(write_once("/proc/self/setgroups", "deny"));
  return write_maps("/proc/self", line(uid, uid, 1), line(gid, gid, 1));
}

Status become_namespace_root() {
  // Raw calls: libc's would look for other threads to bring along.
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) return fail(kernel_error("groups", "leave them", errno));
  if (::syscall(SYS_setresgid, 0, 0, 0) != 0) return fail(kernel_error("group id", "change it", errno));
  if (::syscall(SYS_setresuid, 0, 0, 0) != 0) return fail(kernel_error("user id", "change it", errno));
  return {};
}

constexpr int kMostCapabilities = 64;

Status drop_privileges(bool switch_ids, std::uint32_t uid, std::uint32_t gid) {
  int capability = 0;
  while (capability < kMostCapabilities && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) ++capability;
  // EINVAL: past the last one this kernel knows.
  if (capability < kMostCapabilities && (errno != EINVAL || capability == 0))
    return fail(kernel_error("capabilities", "empty the bounding set", errno));
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0)
    return fail(kernel_error("capabilities", "set the securebits", errno));
  if (switch_ids) {
    if (::syscall(SYS_setresgid, gid, gid, gid) != 0) return fail(kernel_error("group id", "change it", errno));
    if (::syscall(SYS_setresuid, uid, uid, uid) != 0) return fail(kernel_error("user id", "change it", errno));
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return fail(kernel_error("capabilities", "drop them", errno));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail(kernel_error("privileges", "forbid new ones", errno));
  return {};
}

void shed_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  ::syscall(SYS_capset, &header, none.data());
}

}  // namespace loom::helper
