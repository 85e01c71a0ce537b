#include "os/host_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "os/fds.h"
#include "os/placeholder.h"

namespace loom {

namespace {

NodeKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return NodeKind::kFile;
  if (S_ISDIR(mode)) return NodeKind::kDirectory;
  return S_ISLNK(mode) ? NodeKind::kSymlink : NodeKind::kOther;
}

Path link_text(const Path& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size > 0 ? Path(text.data(), static_cast<std::size_t>(size)) : Path();
}

}  // namespace

NodeFacts look_at_host(const Path& path) {
  NodeFacts facts;
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) facts.missing_why = errno_text(errno);
    return facts;
  }
  if (is_placeholder_at(path.c_str(), found)) return facts;
  facts.kind = kind_of(found.st_mode);
  facts.device = found.st_dev;
  facts.inode = found.st_ino;
  facts.links = found.st_nlink;
  facts.uid = found.st_uid;
  facts.gid = found.st_gid;
  if (facts.kind == NodeKind::kSymlink) facts.target = link_text(path);
  return facts;
}

HostFacts host_facts(const Policy& policy) {
  HostFacts facts;
  facts.look = look_at_host;
  facts.root_start = ::geteuid() == 0;
  if (policy.limits.mem_bytes != 0) facts.scratch_bytes = policy.limits.mem_bytes / 2;
  return facts;
}

}  // namespace loom
