#include "helper/stage2/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/stat.h>

#include "helper/stage2/sys.h"

namespace loom::stage2 {
namespace {

constexpr int kEmptyPath = 0x1000;  // AT_EMPTY_PATH
constexpr std::uint64_t kReadOnlyFlag = 1;
constexpr std::uint64_t kNoSuidFlag = 2;
constexpr std::uint64_t kNoDevicesFlag = 4;
constexpr long kProcType = 0x9fa0;

struct StatFs {  // the kernel's struct statfs on 64-bit
  long type, bsize;
  std::uint64_t blocks, bfree, bavail, files, ffree;
  int fsid[2];
  long namelen, frsize, flags, spare[4];
};

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[1];
};

// Calls back with every name of a directory until it answers false; an errno when it cannot be read.
template <class Each>
int each_name(const char* path, Each each) {
  const long fd = call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return static_cast<int>(-fd);
  alignas(DirectoryEntry) char block[4096];
  long got = 0;
  bool more = true;
  while (more && (got = call(__NR_getdents64, fd, block, sizeof block)) > 0) {
    for (long at = 0; more && at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(block + at);
      more = each(entry->name);
      at += entry->size;
    }
  }
  call(__NR_close, fd);
  return got < 0 ? static_cast<int>(-got) : 0;
}

int look_at_namespaces(const Orders& orders, Report& report) {
  static const char* const kNames[] = {"/proc/self/ns/user", "/proc/self/ns/mnt", "/proc/self/ns/pid",
                                       "/proc/self/ns/ipc",  "/proc/self/ns/uts", "/proc/self/ns/cgroup",
                                       "/proc/self/ns/net"};
  for (unsigned i = 0; i < 7; ++i) {
    struct statx seen;
    if (call(__NR_statx, AT_FDCWD, kNames[i], 0, STATX_INO, &seen) == 0) report.namespaces[i] = seen.stx_ino;
  }
  if (orders.setup->container == Container::kNone) return ENOSYS;
  if (call(__NR_getpid) != 1) return ESRCH;
  StatFs system;
  if (const long failed = call(__NR_statfs, "/proc", &system); failed != 0) return static_cast<int>(-failed);
  if (system.type != kProcType) return ENOSYS;
  bool alone = true;
  const int error = each_name("/proc", [&](const char* name) {
    if (name[0] >= '0' && name[0] <= '9') alone = name[0] == '1' && name[1] == '\0';
    return alone;
  });
  return error != 0 ? error : (alone ? 0 : EEXIST);
}

std::uint32_t number_at(const char*& text) {
  while (*text == ' ' || *text == '\n') ++text;
  std::uint32_t value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + static_cast<std::uint32_t>(*text++ - '0');
  return value;
}

// That the file has this line and no other.
int look_at_map(const char* path, const IdMap& wanted) {
  char text[256] = {};
  const long fd = call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return static_cast<int>(-fd);
  const long got = call(__NR_read, fd, text, sizeof text - 1);
  call(__NR_close, fd);
  if (got <= 0) return EIO;
  const char* at = text;
  const bool right = number_at(at) == wanted.inside && number_at(at) == wanted.outside && number_at(at) == wanted.count;
  while (*at == '\n') ++at;
  return right && *at == '\0' ? 0 : EPERM;
}

int look_at_maps(const Setup& setup) {
  // None of it is the host's root: through bubblewrap's own namespace, whose root is the caller.
  if (setup.users.outside == 0 && setup.container != Container::kBwrap) return EPERM;
  const int users = look_at_map("/proc/self/uid_map", setup.users);
  return users != 0 ? users : look_at_map("/proc/self/gid_map", setup.groups);
}

// Real, effective and saved; what files are judged by follows the effective one.
bool all_three_are(long number, std::uint32_t wanted) {
  std::uint32_t ids[3] = {};
  if (call(number, &ids[0], &ids[1], &ids[2]) != 0) return false;
  return ids[0] == wanted && ids[1] == wanted && ids[2] == wanted;
}

int look_at_privileges(const Setup& setup) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (const long failed = call(__NR_capget, &header, data); failed != 0) return static_cast<int>(-failed);
  // The ambient set is a part of the permitted one: empty with it.
  for (const __user_cap_data_struct& set : data) {
    if ((set.effective | set.permitted | set.inheritable) != 0) return EPERM;
  }
  for (int capability = 0; capability < 64; ++capability) {
    const long bounding = call(__NR_prctl, PR_CAPBSET_READ, capability, 0, 0, 0);
    if (bounding < 0) break;  // past the last one this kernel knows
    if (bounding != 0) return EPERM;
  }
  if (!all_three_are(__NR_getresuid, setup.jail_id) || !all_three_are(__NR_getresgid, setup.jail_group)) return EPERM;
  if (setup.own_groups != 0 && call(__NR_getgroups, 0, nullptr) != 0) return EPERM;
  if (setup.container == Container::kNone) return setup.jail_id != 0 ? 0 : EPERM;
  return look_at_maps(setup);
}

bool is_hidden(long fd) {
  return fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES;
}

bool unreadable(const char* path) {
  const long fd = call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd >= 0) call(__NR_close, fd);
  return fd == -EACCES;
}

bool empty(const char* path) {
  bool only_dots = true;
  const int error = each_name(path, [&](const char* name) {
    only_dots = name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
    return only_dots;
  });
  return only_dots && (error == 0 || error == EACCES);
}

bool holds(const MountCheck& check, const char* path) {
  const long fd = call(__NR_openat, AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
  if (check.expect == Expect::kHidden) {
    if (fd >= 0) call(__NR_close, fd);
    return is_hidden(fd);
  }
  if (fd < 0) return false;
  struct statx node;
  StatFs system;
  const bool looked = call(__NR_statx, fd, "", kEmptyPath, STATX_TYPE | STATX_MODE | STATX_INO, &node) == 0 &&
                      call(__NR_fstatfs, fd, &system) == 0;
  call(__NR_close, fd);
  if (!looked || (node.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return false;
  const std::uint64_t device = (std::uint64_t{node.stx_dev_major} << 32U) | node.stx_dev_minor;
  if (check.device != 0 && (device != check.device || node.stx_ino != check.inode)) return false;
  const auto flags = static_cast<std::uint64_t>(system.flags);
  const bool read_only = (flags & kReadOnlyFlag) != 0;
  // A device or a socket that the policy names by an explicit mount is meant to be used; no other device is.
  const bool plain = (node.stx_mode & S_IFMT) == S_IFDIR || (node.stx_mode & S_IFMT) == S_IFREG;
  if ((flags & kNoSuidFlag) == 0 || (plain && (flags & kNoDevicesFlag) == 0)) return false;
  switch (check.expect) {
    case Expect::kReadOnly:
      return read_only;
    case Expect::kReadWrite:
      return !read_only;
    case Expect::kMaskDir:
      return read_only && empty(path);
    case Expect::kMaskFile:
      return read_only && unreadable(path);
    case Expect::kHidden:
      return false;
  }
  return false;
}

// ".." of the root is the root: nothing of the host's tree lies beneath or above it.
bool root_is_top() {
  struct statx root;
  struct statx above;
  const auto look = [](const char* path, struct statx& node) {
    return call(__NR_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_MNT_ID, &node) == 0;
  };
  return look("/", root) && look("/..", above) && root.stx_ino == above.stx_ino && root.stx_mnt_id == above.stx_mnt_id;
}

int look_at_mounts(const Orders& orders, Report& report) {
  if (orders.setup->container == Container::kNone) return ENOSYS;
  if (!root_is_top()) return ENOTUNIQ;
  std::uint32_t number = 0;
  for (const Record* r = next_record(orders.policy, nullptr); r != nullptr; r = next_record(orders.policy, r)) {
    if (r->tag != Tag::kMountCheck) continue;
    const auto* check = body<MountCheck>(r);
    if (holds(*check, text_after<MountCheck>(r))) {
      ++report.mounts[check->mount_class % kMountClasses];
    } else if (report.failures++ < kReportedFailures) {
      report.failed[report.failures - 1] = number;
    }
    ++number;
  }
  return report.failures == 0 ? 0 : EXDEV;
}

// Every probe of this layer refused as the table says; ENOENT when there was none to make.
int look_at_seccomp(const Orders& orders, std::uint32_t net) {
  bool any = false;
  for (const Record* r = next_record(orders.policy, nullptr); r != nullptr; r = next_record(orders.policy, r)) {
    if (r->tag != Tag::kSeccompProbe || body<SeccompProbe>(r)->net != net) continue;
    const auto* probe = body<SeccompProbe>(r);
    const long answer = call(probe->number, probe->args[0], probe->args[1], probe->args[2], 0, 0, 0);
    if (answer != -probe->error) return answer < 0 ? static_cast<int>(-answer) : EXDEV;
    any = true;
  }
  return any ? 0 : ENOENT;
}

}  // namespace

void note(Report& report, Witness witness, int error) {
  if (error == 0) report.seen |= 1U << witness;
  report.error[witness] = error;
}

void look_around(const Orders& orders, Report& report) {
  note(report, kSawNamespaces, look_at_namespaces(orders, report));
  note(report, kSawMounts, look_at_mounts(orders, report));
  note(report, kSawUnprivileged, look_at_privileges(*orders.setup));
  note(report, kSawNoNewPrivs, call(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : EPERM);
  if (orders.setup->watch == Watch::kNothing) look_at_filter(orders, report);
}

void look_at_filter(const Orders& orders, Report& report) {
  const bool loaded = call(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
  note(report, kSawSeccompBase, loaded ? look_at_seccomp(orders, 0) : ENOSYS);
  note(report, kSawSeccompNet, loaded ? look_at_seccomp(orders, 1) : ENOSYS);
}

}  // namespace loom::stage2
