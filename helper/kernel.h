// The newer system calls the builder makes, each a value or an Error with the path and the kernel's reason. The
// kernel's mount calls take descriptors on both sides, so that no name is looked up twice.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom::helper {

// "cannot DEED: REASON" at `where`, code spawn_failed.
[[nodiscard]] Error kernel_error(std::string_view where, std::string_view deed, int error);

// The same for new namespaces, with what usually stands behind the reason.
[[nodiscard]] Error namespace_error(int error);

// When the kernel last changed an inode, in nanoseconds: no command sets it back.
[[nodiscard]] inline std::uint64_t moment_of(const struct stat& facts) {
  return static_cast<std::uint64_t>(facts.st_ctim.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(facts.st_ctim.tv_nsec);
}

// A child in new namespaces that returns 0 in the child, as fork does. `flags` are CLONE_NEW* and CLONE_PARENT; the
// pidfd is the parent's. `cgroup`: the open directory of the cgroup v2 it is born into; -1: this process's own. -errno
// on failure.
[[nodiscard]] long clone_process(std::uint64_t flags, UniqueFd& pidfd, int cgroup = -1);
// Whether clone_process failed for the cgroup's sake: nothing but that is refused with these.
[[nodiscard]] bool is_cgroup_error(int error);
// The process id behind a pidfd, as this process's /proc tells it; 0 when it cannot be told.
[[nodiscard]] pid_t pid_of(int pidfd);

// openat2 with O_PATH|O_NOFOLLOW|O_CLOEXEC: no link and no magic link anywhere, "/" being the directory when `in_root`.
// -errno on failure.
[[nodiscard]] int open_without_links(int directory, const std::string& path, bool in_root,
                                     std::uint64_t more_flags = 0);

[[nodiscard]] Result<UniqueFd> clone_tree(int at, std::string_view where);  // recursive, detached
[[nodiscard]] Status set_mount(int tree, std::uint64_t set, std::string_view where, bool recursive = true,
                               int idmap = -1);
[[nodiscard]] Status attach(int tree, int destination, std::string_view where);

// A new file system of `type` with "key=value" options, as a detached mount.
struct MountOption {
  const char* key;
  std::string value;
};
[[nodiscard]] Result<UniqueFd> new_mount(const char* type, std::initializer_list<MountOption> options,
                                         std::uint64_t attributes);

// Which mount a descriptor is on; 0 when it cannot be told.
[[nodiscard]] std::uint64_t mount_id(int fd);

// All of `text` into a file that takes it in one write (maps of a user namespace).
[[nodiscard]] Status write_once(const std::string& path, std::string_view text);

}  // namespace loom::helper
