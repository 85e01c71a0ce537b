#include "helper/look.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "os/fds.h"

namespace loom::helper {
namespace {

NodeKind kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return NodeKind::kDirectory;
  if (S_ISREG(mode)) return NodeKind::kFile;
  if (S_ISLNK(mode)) return NodeKind::kSymlink;
  return NodeKind::kOther;
}

}  // namespace

NodeFacts look_at_host(const Path& path) {
  NodeFacts facts;
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) facts.missing_why = errno_text(errno);
    return facts;
  }
  facts.kind = kind_of(found.st_mode);
  facts.device = found.st_dev;
  facts.inode = found.st_ino;
  facts.links = found.st_nlink;
  facts.uid = found.st_uid;
  facts.gid = found.st_gid;
  if (facts.kind == NodeKind::kSymlink) {
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
    if (size > 0) facts.target.assign(text.data(), static_cast<std::size_t>(size));
  }
  return facts;
}

}  // namespace loom::helper
