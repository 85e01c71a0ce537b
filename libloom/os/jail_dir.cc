#include "os/jail_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "os/fds.h"
#include "os/runtime_dir.h"

namespace loom {

namespace {

constexpr int kTries = 3;

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(again >= 0 ? ::fdopendir(again) : nullptr, ::closedir);
  while (const dirent* entry = list ? ::readdir(list.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// It holds files and sockets of ours only, and directories of such.
void remove_with_files(int parent, const std::string& name, int directory) {
  for (const std::string& file : names_in(directory)) {
    if (::unlinkat(directory, file.c_str(), 0) == 0) continue;
    const UniqueFd inner(::openat(directory, file.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inner) remove_with_files(directory, file, inner.get());
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

// "jail-" and "loom-jail-" of what is ours, and what nobody holds.
void sweep(int parent, const std::string& own) {
  const std::string prefix = own.substr(0, own.find("jail-") + std::string_view("jail-").size());
  for (const std::string& name : names_in(parent)) {
    if (name == own || name.compare(0, prefix.size(), prefix) != 0) continue;
    const UniqueFd directory(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!directory || ::fstat(directory.get(), &facts) != 0 || facts.st_uid != ::geteuid()) continue;
    if (::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) remove_with_files(parent, name, directory.get());
  }
}

tl::unexpected<Error> failed(const std::string& path, const char* deed) {
  return fail("jail_dir_failed", path, std::string("cannot ") + deed + ": " + errno_text(errno));
}

}  // namespace

// A sibling that sweeps, or that takes the directory above away with its own, may be faster: then once more.
Status JailDir::make() {
  if (lock_) return {};
  Status made = try_make();
  for (int again = 0; !made && again < kTries; ++again) made = try_make();
  return made;
}

Status JailDir::try_make() {
  const std::string above = parent_of(path_);
  const bool there = ::access(above.c_str(), F_OK) == 0;
  // Directly below /tmp, which is everybody's, a name of our own making is as good: mkdir follows nothing.
  UniqueFd parent;
  if (above == "/tmp") {
    parent.reset(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  } else {
    LOOM_TRY(parent, prepare_socket_dir(path_));
  }
  made_above_ = made_above_ || !there;
  if (!parent) return failed(above, "open it");
  const std::string name = path_.substr(above.size() + 1);
  if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return failed(path_, "make it");
  UniqueFd own(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!own || ::flock(own.get(), LOCK_EX | LOCK_NB) != 0) return failed(path_, "lock it");
  struct stat facts {};
  if (::fstat(own.get(), &facts) != 0 || facts.st_uid != ::geteuid() || facts.st_nlink == 0) {
    errno = EPERM;
    return failed(path_, "own it");
  }
  lock_ = std::move(own);
  sweep(parent.get(), name);
  return {};
}

void JailDir::remove() {
  if (!lock_) return;
  const std::string above = parent_of(path_);
  const UniqueFd parent(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent) remove_with_files(parent.get(), path_.substr(above.size() + 1), lock_.get());
  lock_.reset();
  if (made_above_) ::rmdir(above.c_str());
}

}  // namespace loom
