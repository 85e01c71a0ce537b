#include "helper/sources.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "helper/kernel.h"
#include "os/fds.h"
#include "policy/covers.h"

namespace loom::helper {
namespace {

constexpr std::size_t kMountInfoBytes = 16U << 20U;

Result<UniqueFd> open_source(const PlanOp& op) {
  const int fd = open_without_links(AT_FDCWD, op.path, false);
  if (fd == -ELOOP) {
    return fail("plan_refused", op.path,
                "source_through_link: " + op.entry + " leads through a link that was not there before");
  }
  if (fd == -ENOENT || fd == -ENOTDIR) {
    return fail("missing_path", op.path, op.entry + " names a path that has gone");
  }
  if (fd < 0) return fail(kernel_error(op.path, "open it for " + op.entry, -fd));
  return UniqueFd(fd);
}

Status check_identity(const PlanOp& op, int fd) {
  struct stat seen {};
  if (::fstat(fd, &seen) != 0) return fail(kernel_error(op.path, "look at it", errno));
  if (seen.st_dev == op.device && seen.st_ino == op.inode) return {};
  return fail("plan_refused", op.path, "source_changed: " + op.entry + " is no longer the file that was looked at");
}

// Octal escapes of mountinfo: \040 and the like.
Path unescape(std::string_view text) {
  Path path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      path += text[i];
    }
  }
  return path;
}

bool policy_names(const MountPlan& plan, const Path& path) {
  return std::any_of(plan.ops.begin(), plan.ops.end(),
                     [&](const PlanOp& op) { return op.path == path && op.op != OpClass::kBase; });
}

// One mount alone: its own root, idmapped and flagged. Nothing when it cannot be idmapped.
Result<UniqueFd> take_alone(int source, const PlanOp& op, const Path& path, int idmap) {
  UniqueFd tree(::open_tree(source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
  if (!tree) return fail(kernel_error(path, "clone the mount", errno));
  LOOM_CHECK(set_mount(tree.get(), mount_attributes(op), path, false, idmap));
  return tree;
}

Status take_submounts(const PlanOp& op, int idmap, const MountPlan& plan, TakenSource& taken) {
  LOOM_TRY(const std::string mountinfo, read_file("/proc/self/mountinfo", kMountInfoBytes));
  for (const Path& below : mounts_below(mountinfo, op.path)) {
    const int fd = open_without_links(AT_FDCWD, below, false);
    if (fd < 0) continue;  // covered by another mount, or gone
    const UniqueFd source(fd);
    struct stat facts {};
    ::fstat(fd, &facts);
    Result<UniqueFd> tree = take_alone(fd, op, below, idmap);
    if (tree) {
      taken.trees.push_back({below, std::move(*tree), S_ISDIR(facts.st_mode) ? NodeKind::kDirectory : NodeKind::kFile});
    } else if (policy_names(plan, below)) {
      return fail("plan_refused", below,
                  "cannot_idmap: the policy names it, and the owners of its files cannot be mapped");
    } else {
      taken.left_out.push_back(below);
    }
  }
  return {};
}

}  // namespace

std::uint64_t mount_attributes(const PlanOp& op) {
  std::uint64_t attributes = MOUNT_ATTR_NOSUID;
  if (op.access == Access::kReadOnly) attributes |= MOUNT_ATTR_RDONLY;
  // A device that the policy names by an explicit mount is meant to be used; no other device of the host is.
  if (op.op != OpClass::kMount || op.kind != NodeKind::kOther) attributes |= MOUNT_ATTR_NODEV;
  return attributes;
}

std::vector<Path> mounts_below(std::string_view mountinfo, const Path& path) {
  std::vector<Path> found;
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    std::size_t at = 0;
    for (int field = 0; field < 4 && at != std::string_view::npos; ++field) {
      at = line.find(' ', at);
      if (at != std::string_view::npos) ++at;
    }
    if (at == std::string_view::npos) continue;
    const Path point = unescape(line.substr(at, line.find(' ', at) - at));
    if (covers_strictly(path, point)) found.push_back(point);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Result<TakenSource> take_source(const PlanOp& op, int idmap, const MountPlan& plan) {
  TakenSource taken;
  Result<UniqueFd> source = open_source(op);
  if (!source && op.optional) return taken;
  if (!source) return fail(std::move(source).error());
  LOOM_CHECK(check_identity(op, source->get()));
  LOOM_TRY(UniqueFd tree, clone_tree(source->get(), op.path));
  const Status whole = set_mount(tree.get(), mount_attributes(op), op.path, true, idmap);
  if (whole) {
    taken.trees.push_back({op.path, std::move(tree), op.kind});
    return taken;
  }
  if (idmap < 0) return fail(whole.error());
  Result<UniqueFd> alone = take_alone(source->get(), op, op.path, idmap);
  if (!alone) {
    return fail("plan_refused", op.path,
                "cannot_idmap: " + op.entry + " is on a file system whose owners cannot be mapped (" +
                    alone.error().what + ")");
  }
  taken.trees.push_back({op.path, std::move(*alone), op.kind});
  LOOM_CHECK(take_submounts(op, idmap, plan, taken));
  return taken;
}

}  // namespace loom::helper
