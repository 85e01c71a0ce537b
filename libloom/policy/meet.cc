#include "policy/meet.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "policy/covers.h"
#include "policy/entry.h"
#include "policy/path_set.h"

namespace loom::meet {

namespace {

PathSet read_only_mounts(const Policy& policy) {
  std::vector<Path> paths;
  for (const Mount& mount : policy.mounts) {
    if (mount.access == Access::kReadOnly) paths.push_back(mount.path);
  }
  return PathSet(std::move(paths));
}

}  // namespace

void add_new(std::vector<std::string>& into, const std::vector<std::string>& more) {
  std::unordered_set<std::string> held(into.begin(), into.end());
  for (const std::string& text : more) {
    if (held.insert(text).second) into.push_back(text);
  }
}

std::vector<Path> writable_roots(const Policy& base, const Policy& requirements) {
  const PathSet base_roots(base.writable_roots);
  const PathSet wanted_roots(requirements.writable_roots);
  const PathSet base_read_only = read_only_mounts(base);
  const PathSet wanted_read_only = read_only_mounts(requirements);
  const auto keep = [&](const std::vector<Path>& from, const PathSet& other) {
    std::vector<Path> kept;
    for (const Path& root : from) {
      if (other.covering(root) != nullptr && base_read_only.covering(root) == nullptr &&
          wanted_read_only.covering(root) == nullptr)
        kept.push_back(root);
    }
    return kept;
  };
  std::vector<Path> composed;
  add_new(composed, keep(base.writable_roots, wanted_roots));
  add_new(composed, keep(requirements.writable_roots, base_roots));
  return composed;
}

std::vector<Path> readable_roots(const Policy& base, const Policy& requirements,
                                 const std::vector<Path>& composed_writable) {
  std::vector<Path> base_readable = base.readable_roots;
  base_readable.insert(base_readable.end(), base.writable_roots.begin(), base.writable_roots.end());
  const PathSet base_roots(base_readable);
  const PathSet wanted_roots(requirements.readable_roots);
  std::vector<Path> composed;
  std::vector<Path> part;
  std::copy_if(base.readable_roots.begin(), base.readable_roots.end(), std::back_inserter(part),
               [&](const Path& root) { return wanted_roots.covering(root) != nullptr; });
  add_new(composed, part);
  part.clear();
  std::copy_if(requirements.readable_roots.begin(), requirements.readable_roots.end(), std::back_inserter(part),
               [&](const Path& root) { return base_roots.covering(root) != nullptr; });
  add_new(composed, part);
  // A writable root of base that a wider requirement wants to read: named by nobody as readable, so only where it adds
  // something.
  std::vector<Path> readable_already = composed;
  readable_already.insert(readable_already.end(), composed_writable.begin(), composed_writable.end());
  const PathSet covered(std::move(readable_already));
  part.clear();
  std::copy_if(base.writable_roots.begin(), base.writable_roots.end(), std::back_inserter(part), [&](const Path& root) {
    return wanted_roots.covering(root) != nullptr && covered.covering(root) == nullptr;
  });
  add_new(composed, part);
  return composed;
}

void drop_redundant_readable(Policy& policy) {
  const PathSet writable(policy.writable_roots);
  const auto redundant = [&](const Path& root) {
    const Path* widest = writable.covering(root);
    return widest != nullptr && *widest != root;
  };
  auto& roots = policy.readable_roots;
  roots.erase(std::remove_if(roots.begin(), roots.end(), redundant), roots.end());
}

std::vector<Mount> mounts(const Policy& base, const Policy& requirements, const Policy& composed) {
  std::unordered_map<std::string_view, const Mount*> wanted;
  for (const Mount& mount : requirements.mounts) wanted.emplace(mount.path, &mount);
  std::vector<Mount> met;
  std::vector<const Mount*> others;
  std::vector<Path> writable = composed.writable_roots;
  if (!composed.scratch.is_tmpfs()) writable.push_back(composed.scratch.host_path);
  for (const Mount& mount : base.mounts) {
    const auto found = wanted.find(mount.path);
    if (found == wanted.end()) {
      if (mount.access == Access::kReadOnly) others.push_back(&mount);
      continue;
    }
    const Mount& other = *found->second;
    const bool read_write = mount.access == Access::kReadWrite && other.access == Access::kReadWrite;
    if (read_write) writable.push_back(mount.path);
    met.push_back(
        Mount{mount.path, read_write ? Access::kReadWrite : Access::kReadOnly, mount.required || other.required});
  }
  const PathSet regions(std::move(writable));
  const Path& scratch = composed.scratch.host_path;
  for (const Mount* mount : others) {
    const Path* region = regions.covering(mount->path);
    const bool inside = region != nullptr && *region != mount->path;
    if (inside || (!scratch.empty() && covers(mount->path, scratch))) met.push_back(*mount);
  }
  return met;
}

Network network(const Network& base, const Network& requirements) {
  Network composed;
  composed.mode = std::min(base.mode, requirements.mode);
  if (composed.mode != NetworkMode::kProxy) return composed;
  composed.proxy = base.proxy;
  if (base.mode != NetworkMode::kProxy || requirements.mode != NetworkMode::kProxy) {
    composed.allow = base.mode == NetworkMode::kProxy ? base.allow : requirements.allow;
    return composed;
  }
  const auto keep = [](const std::vector<std::string>& from, const std::vector<std::string>& other) {
    const EntrySet allowed(other);
    std::vector<std::string> kept;
    std::copy_if(from.begin(), from.end(), std::back_inserter(kept),
                 [&](const std::string& entry) { return allowed.covers(entry); });
    return kept;
  };
  composed.allow = keep(base.allow, requirements.allow);
  add_new(composed.allow, keep(requirements.allow, base.allow));
  return composed;
}

Limits limits(const Limits& base, const Limits& requirements) {
  Limits composed;
  for (const LimitField& field : kLimitFields) {
    const std::uint64_t a = base.*field.member;
    const std::uint64_t b = requirements.*field.member;
    composed.*field.member = limit_at_least(a, b) ? b : a;
  }
  return composed;
}

std::vector<std::string> names(const std::vector<std::string>& base, const std::vector<std::string>& requirements) {
  const std::unordered_set<std::string> wanted(requirements.begin(), requirements.end());
  std::vector<std::string> composed;
  std::copy_if(base.begin(), base.end(), std::back_inserter(composed),
               [&](const std::string& name) { return wanted.count(name) > 0; });
  return composed;
}

}  // namespace loom::meet
