#include "os/placeholder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
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

// What it must be to change nothing where git reads it. Unread, it is not told from one.
bool has_no_content(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return true;
  std::array<char, 2> content{};
  const ssize_t size = ::pread(fd.get(), content.data(), content.size(), 0);
  return size <= 0 || (size == 1 && content[0] == '.');
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
  if (!looks_like_placeholder(facts)) return false;
  return S_ISDIR(facts.st_mode) ? is_empty(path) : has_no_content(path);
}

}  // namespace loom
