#include "helper/kernel.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "os/fds.h"

namespace loom::helper {

Error kernel_error(std::string_view where, std::string_view deed, int error) {
  std::string hint;
  if (error == EMFILE || error == ENFILE) hint = "raise the limit of open files (ulimit -n)";
  if (error == EFBIG) hint = "raise the limit of file sizes (ulimit -f)";
  return Error{"spawn_failed", std::string(where), "cannot " + std::string(deed) + ": " + errno_text(error),
               std::move(hint)};
}

Error namespace_error(int error) {
  Error said = kernel_error("namespaces", "make them", error);
  if (error == ENOSPC || error == EUSERS) said.what += " (user.max_user_namespaces or a nested limit is used up)";
  if (error == EPERM)
    said.what += " (user namespaces are closed to this user: a sysctl, AppArmor or an outer container)";
  return said;
}

long clone_process(std::uint64_t flags, UniqueFd& pidfd, int cgroup) {
  int made = -1;
  clone_args args{};
  args.flags = flags | CLONE_PIDFD | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0);
  args.cgroup = cgroup >= 0 ? static_cast<std::uint64_t>(cgroup) : 0;
  args.pidfd = reinterpret_cast<std::uint64_t>(&made);
  // With CLONE_PARENT the kernel takes the exit signal of the caller itself.
  args.exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return -errno;
  if (pid > 0) pidfd.reset(made);
  return pid;
}

bool is_cgroup_error(int error) {
  return error == EACCES || error == ENODEV || error == EBUSY || error == EOPNOTSUPP || error == ENOENT;
}

pid_t pid_of(int pidfd) {
  constexpr std::string_view kKey = "Pid:\t";
  const auto facts = read_file("/proc/self/fdinfo/" + std::to_string(pidfd), 4096);
  const std::size_t at = facts ? facts->find(kKey) : std::string::npos;
  return at == std::string::npos ? 0 : std::max(std::atoi(facts->c_str() + at + kKey.size()), 0);
}

int open_without_links(int directory, const std::string& path, bool in_root, std::uint64_t more_flags) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | more_flags;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | (in_root ? RESOLVE_IN_ROOT : 0);
  const long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

Result<UniqueFd> clone_tree(int at, std::string_view where) {
  UniqueFd tree(::open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE));
  if (!tree) return fail(kernel_error(where, "clone the mounts below it", errno));
  return tree;
}

Status set_mount(int tree, std::uint64_t set, std::string_view where, bool recursive, int idmap) {
  mount_attr attributes{};
  // What is mounted below it in the jail must not travel to the mount it was cloned from.
  attributes.propagation = MS_PRIVATE;
  attributes.attr_set = set | (idmap >= 0 ? MOUNT_ATTR_IDMAP : 0);
  attributes.userns_fd = idmap >= 0 ? static_cast<std::uint64_t>(idmap) : 0;
  const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
  if (::mount_setattr(tree, "", flags, &attributes, sizeof attributes) != 0) {
    return fail(kernel_error(where, idmap >= 0 ? "map the owners of its files" : "set its mount flags", errno));
  }
  return {};
}

Status attach(int tree, int destination, std::string_view where) {
  if (::move_mount(tree, "", destination, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0) {
    return fail(kernel_error(where, "mount it in the jail", errno));
  }
  return {};
}

Result<UniqueFd> new_mount(const char* type, std::initializer_list<MountOption> options, std::uint64_t attributes) {
  const UniqueFd context(::fsopen(type, FSOPEN_CLOEXEC));
  if (!context) return fail(kernel_error(type, "make a file system", errno));
  for (const MountOption& option : options) {
    const bool flag = option.value.empty();
    if (::fsconfig(context.get(), flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING, option.key,
                   flag ? nullptr : option.value.c_str(), 0) != 0) {
      return fail(kernel_error(std::string(type) + " " + option.key, "set the option", errno));
    }
  }
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return fail(kernel_error(type, "make the file system", errno));
  }
  UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
  if (!mount) return fail(kernel_error(type, "mount the file system", errno));
  return mount;
}

std::uint64_t mount_id(int fd) {
  struct statx facts {};
  constexpr unsigned kMountId = 0x00001000U;  // STATX_MNT_ID
  if (::statx(fd, "", AT_EMPTY_PATH, kMountId, &facts) != 0 || (facts.stx_mask & kMountId) == 0) return 0;
  return facts.stx_mnt_id;
}

Status write_once(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail(kernel_error(path, "open it", errno));
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail(kernel_error(path, "write it", errno));
  }
  return {};
}

}  // namespace loom::helper
