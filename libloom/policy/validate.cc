#include "policy/validate.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "policy/decode.h"
#include "policy/path_set.h"

namespace loom {

namespace {

std::string at(const std::string& list, std::size_t index) {
  return "/" + list + "/" + std::to_string(index);
}

bool has_component(std::string_view path, std::string_view component) {
  std::size_t begin = 1;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == component) return true;
    begin = end + 1;
  }
  return false;
}

bool ends_in_slash(const Path& path) {
  return path.size() > 1 && path.back() == '/';
}

Status validate_list(const std::vector<Path>& paths, const std::string& list) {
  for (std::size_t i = 0; i < paths.size(); ++i) LOOM_CHECK(validate_path(paths[i], at(list, i)));
  return {};
}

Status validate_limits(const Limits& limits) {
  for (const LimitField& field : kLimitFields) {
    if (limits.*field.member > static_cast<std::uint64_t>(INT64_MAX))
      return fail("limit_too_large", "/limits/" + std::string(field.name), "limit is over 2^63-1");
  }
  return {};
}

Status validate_mount_path(const Mount& mount, const std::string& where) {
  if (mount.path == "/")
    return fail("mount_of_root", where, "a mount of / would bind the host's /proc and /dev over the fresh ones");
  if (ends_in_slash(mount.path)) return fail("mount_path_trailing_slash", where, "the path ends in a slash");
  if (has_component(mount.path, "..")) return fail("mount_path_parent_segment", where, "the path holds \"..\"");
  return validate_path(mount.path, where);
}

// Neither platform can carry out a mount and a mask, or a writable mount and a frozen entry, over the same region.
Status validate_overlap(const Mount& mount, const std::string& where, const PathSet& entries, const std::string& list) {
  const Path* entry = entries.overlapping(mount.path);
  if (entry == nullptr) return {};
  return fail("mount_overlaps_protected", where, "the mount overlaps the " + list + " entry " + *entry);
}

Status validate_mounts(const Policy& policy) {
  const PathSet protected_paths(policy.protected_paths);
  const PathSet frozen(policy.frozen);
  const PathSet writable(policy.writable_roots);
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < policy.mounts.size(); ++i) {
    const Mount& mount = policy.mounts[i];
    const std::string where = at("mounts", i) + "/path";
    LOOM_CHECK(validate_mount_path(mount, where));
    if (!seen.insert(mount.path).second) return fail("duplicate_mount", where, "there is a mount of this path already");
    LOOM_CHECK(validate_overlap(mount, where, protected_paths, "protected"));
    if (mount.access == Access::kReadWrite) {
      LOOM_CHECK(validate_overlap(mount, where, frozen, "frozen"));
    } else if (const Path* root = writable.inside(mount.path); root != nullptr) {
      return fail("mount_shadows_writable_root", where,
                  "the read-only mount lies at or above the writable root " + *root,
                  "drop the writable root or mount with access \"rw\"");
    }
  }
  return {};
}

Status validate_readable_inside_writable(const Policy& policy) {
  const PathSet writable(policy.writable_roots);
  for (std::size_t i = 0; i < policy.readable_roots.size(); ++i) {
    const Path* root = writable.covering(policy.readable_roots[i]);
    if (root != nullptr && *root != policy.readable_roots[i])
      return fail("readable_inside_writable", at("readable_roots", i),
                  "a readable root inside the writable root " + *root + " adds nothing",
                  "use frozen for what is readable and never writable");
  }
  return {};
}

}  // namespace

Status validate_path(const Path& path, const std::string& where) {
  if (path.empty() || path.front() != '/') return fail("relative_path", where, "relative path", "write it from / on");
  if (path == "/") return {};
  if (ends_in_slash(path)) return fail("path_not_canonical", where, "the path ends in a slash");
  for (const std::string_view component : {"", ".", ".."}) {
    if (has_component(path, component))
      return fail("path_not_canonical", where,
                  component.empty() ? std::string("the path holds \"//\"")
                                    : "the path holds \"" + std::string(component) + "\"",
                  "one region has one name");
  }
  return {};
}

Status validate_composed(const Policy& policy) {
  LOOM_CHECK(validate_list(policy.writable_roots, "writable_roots"));
  LOOM_CHECK(validate_list(policy.readable_roots, "readable_roots"));
  LOOM_CHECK(validate_list(policy.frozen, "frozen"));
  LOOM_CHECK(validate_list(policy.protected_paths, "protected"));
  LOOM_CHECK(validate_mounts(policy));
  if (!policy.network.proxy.empty()) LOOM_CHECK(validate_path(policy.network.proxy, "/network/proxy"));
  LOOM_CHECK(validate_limits(policy.limits));
  if (policy.scratch.is_tmpfs()) return {};
  if (policy.scratch.host_path == "/")
    return fail("scratch_is_root", "/scratch",
                "a scratch of / would open everything to writing: Landlock cannot subtract");
  return validate_path(policy.scratch.host_path, "/scratch");
}

Status validate_document(const Policy& policy) {
  LOOM_CHECK(validate_composed(policy));
  return validate_readable_inside_writable(policy);
}

}  // namespace loom
