// What a policy allows at a host path, written down a second time and as plainly as possible: the oracle of the
// properties.
#pragma once

#include <algorithm>
#include <vector>

#include "policy/covers.h"
#include "policy/model.h"

namespace loom::test {

inline bool any_covers(const std::vector<Path>& roots, const Path& path) {
  return std::any_of(roots.begin(), roots.end(), [&](const Path& root) { return covers(root, path); });
}

// The mount nearest above the path decides over the roots: mounts come last.
inline const Mount* mount_at(const Policy& policy, const Path& path) {
  const Mount* nearest = nullptr;
  for (const Mount& mount : policy.mounts) {
    if (covers(mount.path, path) && (nearest == nullptr || covers(nearest->path, mount.path))) nearest = &mount;
  }
  return nearest;
}

inline bool may_write(const Policy& policy, const Path& path) {
  if (any_covers(policy.protected_paths, path) || any_covers(policy.frozen, path)) return false;
  if (const Mount* mount = mount_at(policy, path)) return mount->access == Access::kReadWrite;
  if (!policy.scratch.is_tmpfs() && covers(policy.scratch.host_path, path)) return true;
  return any_covers(policy.writable_roots, path);
}

inline bool may_read(const Policy& policy, const Path& path) {
  if (any_covers(policy.protected_paths, path)) return false;
  if (mount_at(policy, path) != nullptr) return true;
  if (!policy.scratch.is_tmpfs() && covers(policy.scratch.host_path, path)) return true;
  return any_covers(policy.writable_roots, path) || any_covers(policy.readable_roots, path);
}

}  // namespace loom::test
