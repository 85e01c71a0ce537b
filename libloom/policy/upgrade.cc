#include "policy/upgrade.h"

#include <algorithm>

#include "policy/path_set.h"

namespace loom {

Policy freeze_readable_inside_writable(Policy policy) {
  const PathSet writable(policy.writable_roots);
  const auto stays = [&](const Path& readable) {
    const Path* root = writable.covering(readable);
    return root == nullptr || *root == readable;
  };
  const auto moved = std::stable_partition(policy.readable_roots.begin(), policy.readable_roots.end(), stays);
  policy.frozen.insert(policy.frozen.end(), moved, policy.readable_roots.end());
  policy.readable_roots.erase(moved, policy.readable_roots.end());
  return policy;
}

}  // namespace loom
