#include "helper/index_look.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "helper/kernel.h"
#include "os/unique_fd.h"
#include "plan/git_index.h"
#include "plan/path_index.h"

namespace loom::helper {
namespace {

constexpr std::size_t kMostEvents = 64;

bool changed_since(const Path& path, std::uint64_t began) {
  struct stat seen {};
  return ::lstat(path.c_str(), &seen) == 0 && moment_of(seen) >= began;
}

std::optional<std::string> read_index(int fd, const struct stat& seen) {
  if (!S_ISREG(seen.st_mode) || static_cast<std::uint64_t>(seen.st_size) > kMostGitIndexBytes) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(seen.st_size), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t size = ::pread(fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (size <= 0) return std::nullopt;
    got += static_cast<std::size_t>(size);
  }
  return bytes;
}

bool is_suspect(const Path& git, std::uint64_t began, bool index_changed) {
  struct stat seen {};
  if (::lstat(git.c_str(), &seen) != 0) return false;
  if (moment_of(seen) >= began || changed_since(git + "/config", began)) return true;
  return index_changed && S_ISDIR(seen.st_mode);
}

}  // namespace

std::vector<std::string> look_at_index(const Path& index, std::uint64_t began, std::uint64_t was) {
  const UniqueFd fd(::open(index.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat seen {};
  if (!fd || ::fstat(fd.get(), &seen) != 0) return {};
  const bool changed = moment_of(seen) != was;
  const std::optional<std::string> bytes = read_index(fd.get(), seen);
  const auto links = bytes ? gitlinks_of(*bytes) : std::nullopt;
  if (!links) return changed ? std::vector<std::string>{"git-index=unread: " + index} : std::vector<std::string>{};
  const Path tree(parent_of(parent_of(index)));
  std::vector<std::string> events;
  std::size_t more = 0;
  for (const std::string& link : *links) {
    const Path directory = join(tree, link);
    if (!is_suspect(directory + "/.git", began, changed)) continue;
    if (events.size() < kMostEvents) {
      events.push_back("repo-in-index=" + directory);
    } else {
      ++more;
    }
  }
  if (more > 0) events.push_back("repo-in-index=" + std::to_string(more) + " more");
  return events;
}

}  // namespace loom::helper
