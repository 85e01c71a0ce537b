#include "helper/placeholders.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "helper/index_look.h"
#include "helper/kernel.h"
#include "os/fds.h"
#include "os/placeholder.h"
#include "plan/path_index.h"

namespace loom::helper {
namespace {

// Whoever takes one away holds its lock for two calls; a lock that is held much longer is somebody's ill will.
constexpr int kTries = 2000;
constexpr timespec kPause{0, 1'000'000};

// A user's builder has every capability over that user's files in its own namespace, and the process that takes away
// has none: what could not be removed is not made.
class AsTheUserAlone {
 public:
  AsTheUserAlone() {
    if (::syscall(SYS_capget, &header_, given_.data()) != 0) return;
    auto fewer = given_;
    fewer[0].effective &= ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH) | (1U << CAP_FOWNER));
    changed_ = ::syscall(SYS_capset, &header_, fewer.data()) == 0;
  }
  ~AsTheUserAlone() {
    if (changed_) ::syscall(SYS_capset, &header_, given_.data());
  }
  AsTheUserAlone(const AsTheUserAlone&) = delete;
  AsTheUserAlone& operator=(const AsTheUserAlone&) = delete;

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> given_{};
  bool changed_ = false;
};

struct Place {
  UniqueFd parent;
  std::string name;
};

// The directory a placeholder is made in or taken from has no other time of modification afterwards. One at a time, so
// that nobody takes another's moment for the time that was there; whoever holds the lock for long is not waited for.
class SameTime {
 public:
  explicit SameTime(int directory)
      : directory_(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    for (int i = 0; directory_ && i < kShortTries && ::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0; ++i)
      ::nanosleep(&kPause, nullptr);
    known_ = directory_ && ::fstat(directory_.get(), &before_) == 0;
  }
  ~SameTime() {
    if (!known_) return;
    const std::array<timespec, 2> times{{{0, UTIME_OMIT}, before_.st_mtim}};
    ::futimens(directory_.get(), times.data());
  }
  SameTime(const SameTime&) = delete;
  SameTime& operator=(const SameTime&) = delete;

 private:
  static constexpr int kShortTries = 50;
  UniqueFd directory_;
  struct stat before_ {};
  bool known_ = false;
};

const char* name_of(const Path& path) {
  return path.c_str() + path.rfind('/') + 1;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

tl::unexpected<Error> changed(const PlanOp& op, const std::string& what) {
  return fail("plan_refused", op.path, "source_changed: " + what + " since " + op.entry + " was looked up");
}

Result<Place> open_place(const PlanOp& op) {
  const Path parent(parent_of(op.path));
  const int fd = open_without_links(AT_FDCWD, parent, false, O_DIRECTORY);
  if (fd == -ELOOP) {
    return fail("plan_refused", op.path,
                "source_through_link: " + op.entry + " leads through a link that was not there before");
  }
  if (fd == -ENOENT || fd == -ENOTDIR) return changed(op, parent + " has gone");
  if (fd < 0) return fail(kernel_error(parent, "open it for " + op.entry, -fd));
  Place place{UniqueFd(fd), name_of(op.path)};
  struct stat seen {};
  if (::fstat(fd, &seen) != 0 || seen.st_dev != op.device || seen.st_ino != op.inode)
    return changed(op, parent + " was replaced");
  return place;
}

// The last touch: from here on it is known for what it is by its time. Its mode says so until then.
void stamp(int fd, int parent, bool for_owner) {
  struct stat above {};
  if (for_owner && ::fstat(parent, &above) == 0) {
    // Where owners cannot be given it stays root's, who takes it away as well.
    [[maybe_unused]] const int given = ::fchown(fd, above.st_uid, above.st_gid);
  }
  const std::array<timespec, 2> times{{{0, UTIME_OMIT}, {kPlaceholderTime, 0}}};
  ::futimens(fd, times.data());
}

// A file has its content and its time before it has a name, where the file system can do that.
int make_file(const Place& place, const std::string& content, bool for_owner) {
  const std::string self = "/proc/self/fd/";
  UniqueFd fd(::openat(place.parent.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kPlaceholderFile));
  const bool nameless = fd.valid();
  if (!fd) {
    fd.reset(::openat(place.parent.get(), place.name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
                      kPlaceholderFile));
  }
  if (!fd) return errno;
  if (!content.empty() && ::write(fd.get(), content.data(), content.size()) < 0) {
    const int error = errno;
    if (!nameless) ::unlinkat(place.parent.get(), place.name.c_str(), 0);
    return error;
  }
  stamp(fd.get(), place.parent.get(), for_owner);
  if (!nameless) return 0;
  const int linked = ::linkat(AT_FDCWD, (self + std::to_string(fd.get())).c_str(), place.parent.get(),
                              place.name.c_str(), AT_SYMLINK_FOLLOW);
  return linked == 0 ? 0 : errno;
}

int make(const PlanOp& op, const Place& place, bool for_owner) {
  struct stat there {};
  if (::fstatat(place.parent.get(), place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  const SameTime same(place.parent.get());
  if (op.kind == NodeKind::kFile) return make_file(place, op.target, for_owner);
  return ::mkdirat(place.parent.get(), place.name.c_str(), kPlaceholderBeingMade) == 0 ? 0 : errno;
}

UniqueFd open_it(const Place& place) {
  return UniqueFd(
      ::openat(place.parent.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

bool still_there(const Place& place, const struct stat& seen) {
  struct stat now {};
  return ::fstatat(place.parent.get(), place.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 && same_file(now, seen);
}

enum class Try { kHeld, kAgain, kCannot, kTaken };

// One round of hold_placeholder: made or found, opened, locked, and looked at again under the lock.
Try try_to_hold(const PlanOp& op, const Place& place, bool for_owner, std::optional<PlaceholderLock>& held) {
  const int error = make(op, place, for_owner);
  if (error != 0 && error != EEXIST) return Try::kCannot;
  UniqueFd fd = open_it(place);
  struct stat seen {};
  if (!fd && errno == ENOENT) return Try::kAgain;
  if (!fd) {
    // Somebody else's, which we may see and not lock: no placeholder of ours.
    const int looked = ::fstatat(place.parent.get(), place.name.c_str(), &seen, AT_SYMLINK_NOFOLLOW);
    return looked == 0 && looks_like_placeholder(seen) ? Try::kCannot : Try::kTaken;
  }
  if (::fstat(fd.get(), &seen) != 0 || !looks_like_placeholder(seen)) return Try::kTaken;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Try::kAgain;
    if (error == 0) ::unlinkat(place.parent.get(), place.name.c_str(), S_ISDIR(seen.st_mode) ? AT_REMOVEDIR : 0);
    return Try::kCannot;
  }
  if (!still_there(place, seen)) return Try::kAgain;
  if (error == 0 && S_ISDIR(seen.st_mode)) {
    stamp(fd.get(), place.parent.get(), for_owner);
    ::fchmod(fd.get(), kPlaceholderDirectory);
  }
  held.emplace(std::move(fd), seen.st_dev, seen.st_ino);
  return Try::kHeld;
}

bool content_is_ours(int fd) {
  std::array<char, 2> content{};
  const ssize_t size = ::pread(fd, content.data(), content.size(), 0);
  return size == 0 || (size == 1 && content[0] == '.');
}

void remove_if_alone(const Place& place) {
  const UniqueFd fd = open_it(place);
  struct stat seen {};
  if (!fd || ::fstat(fd.get(), &seen) != 0 || !looks_like_placeholder(seen)) return;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !still_there(place, seen)) return;
  const SameTime same(place.parent.get());
  if (S_ISDIR(seen.st_mode)) {
    ::unlinkat(place.parent.get(), place.name.c_str(), AT_REMOVEDIR);
  } else if (content_is_ours(fd.get())) {
    ::unlinkat(place.parent.get(), place.name.c_str(), 0);
  }
}

void leave_unguarded(MountPlan& plan, const Path& placeholder) {
  const auto is_it = [&](const PlanOp& op) { return op.op == OpClass::kPlaceholder && op.path == placeholder; };
  plan.ops.erase(std::remove_if(plan.ops.begin(), plan.ops.end(), is_it), plan.ops.end());
  for (GuardedEntry& entry : plan.guards) {
    if (entry.placeholder != placeholder) continue;
    entry.placeholder.clear();
    plan.events.push_back("unguarded=" + entry.path);
  }
}

// Of a repository, whose place or config is the other kind of entry that no policy names.
bool is_index(const GuardedEntry& entry) {
  return entry.path.empty() && std::string_view(name_of(entry.real)) == "index";
}

// In the kernel's time of change.
std::uint64_t now() {
  struct timespec moment {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &moment);
  return static_cast<std::uint64_t>(moment.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(moment.tv_nsec);
}

bool changed_since(const GuardRecord& record) {
  struct stat seen {};
  return ::lstat(record.entry.real.c_str(), &seen) != 0 || seen.st_ino != record.device ||
         moment_of(seen) != record.inode;
}

// Something else than a placeholder.
bool appeared(const Path& path) {
  struct stat seen {};
  return ::lstat(path.c_str(), &seen) == 0 && !is_placeholder_at(path.c_str(), seen);
}

}  // namespace

Result<std::optional<PlaceholderLock>> hold_placeholder(const PlanOp& op, bool for_owner) {
  LOOM_TRY(const Place place, open_place(op));
  std::optional<PlaceholderLock> held;
  for (int i = 0; i < kTries; ++i) {
    switch (try_to_hold(op, place, for_owner, held)) {
      case Try::kHeld:
      case Try::kCannot:
        return held;
      case Try::kTaken:
        return changed(op, "something was put there");
      case Try::kAgain:
        if (i > 2) ::nanosleep(&kPause, nullptr);
        break;
    }
  }
  return fail("spawn_failed", op.path, "another process holds a lock on what stands in for " + op.entry,
              "end that process, or remove the empty directory");
}

std::vector<GuardRecord> guard_records(const MountPlan& plan) {
  PathIndex placed;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.ops[i].op == OpClass::kPlaceholder) placed.add(plan.ops[i].path, i);
  }
  std::vector<GuardRecord> records;
  for (const GuardedEntry& entry : plan.guards) {
    GuardRecord record{entry};
    if (const auto number = placed.at(entry.placeholder)) {
      record.device = plan.ops[*number].device;
      record.inode = plan.ops[*number].inode;
    } else if (is_index(entry)) {
      struct stat seen {};
      record.device = now();
      record.inode = ::lstat(entry.real.c_str(), &seen) == 0 ? moment_of(seen) : 0;
    } else if (struct stat seen{}; entry.path.empty() && ::lstat(entry.real.c_str(), &seen) == 0) {
      record.device = seen.st_ino;
      record.inode = moment_of(seen);
    }
    records.push_back(std::move(record));
  }
  return records;
}

Result<std::vector<PlaceholderLock>> hold_placeholders(MountPlan& plan, bool for_owner) {
  std::vector<PlaceholderLock> locks;
  const mode_t mask = ::umask(0);
  std::optional<AsTheUserAlone> alone;
  if (!for_owner) alone.emplace();
  std::vector<Path> cannot;
  for (PlanOp& op : plan.ops) {
    if (op.op != OpClass::kPlaceholder) continue;
    LOOM_TRY(std::optional<PlaceholderLock> held, hold_placeholder(op, for_owner));
    if (!held) {
      cannot.push_back(op.path);
      continue;
    }
    op.device = held->device();
    op.inode = held->inode();
    locks.push_back(std::move(*held));
  }
  ::umask(mask);
  for (const Path& path : cannot) leave_unguarded(plan, path);
  return locks;
}

void leave_all_unguarded(MountPlan& plan) {
  std::vector<Path> placeholders;
  for (const PlanOp& op : plan.ops) {
    if (op.op == OpClass::kPlaceholder) placeholders.push_back(op.path);
  }
  for (const Path& path : placeholders) leave_unguarded(plan, path);
}

std::vector<std::string> take_away(const std::vector<GuardRecord>& records) {
  std::vector<std::string> found;
  for (const GuardRecord& record : records) {
    const Path& path = record.entry.placeholder;
    if (!path.empty()) {
      const int fd = open_without_links(AT_FDCWD, Path(parent_of(path)), false, O_DIRECTORY);
      const Place place{UniqueFd(fd < 0 ? -1 : fd), name_of(path)};
      struct stat seen {};
      const bool same =
          fd >= 0 && ::fstat(fd, &seen) == 0 && seen.st_dev == record.device && seen.st_ino == record.inode;
      if (same) remove_if_alone(place);
    }
    if (is_index(record.entry)) {
      for (std::string& event : look_at_index(record.entry.real, record.device, record.inode))
        found.push_back(std::move(event));
      continue;
    }
    if (record.entry.path.empty() && record.device != 0) {
      if (changed_since(record)) found.push_back("changed=" + record.entry.real);
      continue;
    }
    if (!appeared(record.entry.real)) continue;
    const GuardedEntry& entry = record.entry;
    found.push_back(entry.path.empty() ? "repo-created=" + Path(parent_of(entry.real))
                                       : "protected-appeared=" + entry.path);
  }
  return found;
}

void take_stale_away(const MountPlan& plan) {
  constexpr std::array<const char*, 7> kUsual{
      ".vscode", ".idea", ".envrc", ".husky", ".git/hooks", ".git/commondir", ".git/config.worktree"};
  constexpr std::size_t kMostRoots = 16;
  PathIndex used;
  for (const GuardedEntry& entry : plan.guards) used.add(entry.placeholder, 0);
  std::size_t roots = 0;
  for (const PlanOp& op : plan.ops) {
    if (op.op != OpClass::kWritable || op.kind != NodeKind::kDirectory || ++roots > kMostRoots) continue;
    for (const char* name : kUsual) {
      const Path path = join(op.path, name);
      struct stat seen {};
      if (used.at(path) || ::lstat(path.c_str(), &seen) != 0 || !looks_like_placeholder(seen)) continue;
      const int fd = open_without_links(AT_FDCWD, Path(parent_of(path)), false, O_DIRECTORY);
      if (fd >= 0) remove_if_alone({UniqueFd(fd), name_of(path)});
    }
  }
}

std::string encode_guard(const GuardRecord& record) {
  const GuardedEntry& entry = record.entry;
  return std::to_string(record.device) + " " + std::to_string(record.inode) + " " +
         std::to_string(entry.placeholder.size()) + " " + std::to_string(entry.real.size()) + " " + entry.placeholder +
         entry.real + entry.path;
}

std::optional<GuardRecord> decode_guard(std::string_view text) {
  std::array<std::uint64_t, 4> numbers{};
  for (std::uint64_t& number : numbers) {
    const std::size_t end = text.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    for (const char digit : text.substr(0, end)) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    text.remove_prefix(end + 1);
  }
  if (numbers[2] > text.size() || numbers[3] > text.size() - numbers[2]) return std::nullopt;
  GuardRecord record;
  record.device = numbers[0];
  record.inode = numbers[1];
  record.entry.placeholder = text.substr(0, numbers[2]);
  record.entry.real = text.substr(numbers[2], numbers[3]);
  record.entry.path = text.substr(numbers[2] + numbers[3]);
  return record;
}

}  // namespace loom::helper
