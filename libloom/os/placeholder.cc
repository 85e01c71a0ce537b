#include "os/placeholder.h"

#include <dirent.h>
#include <fcntl.h>

#include <memory>
#include <string_view>

#include "os/unique_fd.h"

namespace loom {
namespace {

constexpr mode_t kModeBits = 07777;

bool is_empty(const char* path) {
  UniqueFd fd(::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return true;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), ::closedir);
  if (!directory) return true;
  (void)fd.release();  // closedir closes it
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return false;
  }
  return true;
}

}  // namespace

bool looks_like_placeholder(const struct stat& facts) {
  const mode_t mode = facts.st_mode & kModeBits;
  const bool stamped = facts.st_mtim.tv_sec == kPlaceholderTime && facts.st_mtim.tv_nsec == 0;
  if (S_ISREG(facts.st_mode)) return stamped && mode == kPlaceholderFile && facts.st_size <= 1;
  if (!S_ISDIR(facts.st_mode)) return false;
  // A directory with the set-group-id bit hands it on to what is made in it.
  return (mode & ~mode_t{S_ISGID}) == kPlaceholderBeingMade || (stamped && mode == kPlaceholderDirectory);
}

bool is_placeholder_at(const char* path, const struct stat& facts) {
  return looks_like_placeholder(facts) && (!S_ISDIR(facts.st_mode) || is_empty(path));
}

}  // namespace loom
