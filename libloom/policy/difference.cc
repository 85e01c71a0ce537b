#include "policy/difference.h"

#include <utility>

#include "policy/path_set.h"

namespace loom {

namespace {

struct Regions {
  std::vector<Path> writable;
  std::vector<Path> readable;  // what may be written included
};

Regions regions_of(const Policy& policy) {
  Regions regions{policy.writable_roots, policy.readable_roots};
  if (!policy.scratch.is_tmpfs()) regions.writable.push_back(policy.scratch.host_path);
  for (const Mount& mount : policy.mounts) {
    (mount.access == Access::kReadWrite ? regions.writable : regions.readable).push_back(mount.path);
  }
  regions.readable.insert(regions.readable.end(), regions.writable.begin(), regions.writable.end());
  return regions;
}

std::vector<Path> read_only_mounts_inside(const Policy& policy, const PathSet& writable) {
  std::vector<Path> paths;
  for (const Mount& mount : policy.mounts) {
    if (mount.access == Access::kReadOnly && writable.covering(mount.path) != nullptr) paths.push_back(mount.path);
  }
  return paths;
}

// The subtractions of one side that the other neither makes nor has nothing to subtract from.
void add_missing(const std::string& kind, const std::vector<Path>& subtracted, const PathSet& also,
                 const PathSet& regions, std::vector<Narrowing>& out) {
  for (const Path& path : subtracted) {
    if (also.covering(path) == nullptr && regions.overlapping(path) != nullptr)
      out.push_back(Narrowing{kind, "", text_or_bytes(path), Value()});
  }
}

std::vector<Path> joined(std::vector<Path> a, const std::vector<Path>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

std::vector<Narrowing> allowed_beyond(const Policy& narrow, const Policy& wide) {
  std::vector<Narrowing> out = compose(narrow, wide, {}).narrowings;
  const Regions regions = regions_of(wide);
  const PathSet writable(regions.writable);
  const std::vector<Path> never_written = joined(wide.frozen, wide.protected_paths);
  add_missing("frozen", narrow.frozen, PathSet(never_written), writable, out);
  add_missing("protected", narrow.protected_paths, PathSet(wide.protected_paths), PathSet(regions.readable), out);
  add_missing("read_only_mount", read_only_mounts_inside(narrow, PathSet(regions_of(narrow).writable)),
              PathSet(joined(never_written, read_only_mounts_inside(wide, writable))), writable, out);
  const bool proxies = narrow.network.mode == NetworkMode::kProxy && wide.network.mode == NetworkMode::kProxy;
  if (proxies && narrow.network.proxy != wide.network.proxy)
    out.push_back(Narrowing{"proxy", "", text_or_bytes(wide.network.proxy), text_or_bytes(narrow.network.proxy)});
  return out;
}

}  // namespace loom
