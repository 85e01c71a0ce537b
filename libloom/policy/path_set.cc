#include "policy/path_set.h"

#include <algorithm>

#include "policy/covers.h"

namespace loom {

namespace {

// '/' sorts before every other byte (no path holds a NUL), and "/" itself before everything.
bool before(std::string_view a, std::string_view b) {
  if (a == "/") return b != "/";
  if (b == "/") return false;
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (a[i] == b[i]) continue;
    if (a[i] == '/' || b[i] == '/') return a[i] == '/';
    return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[i]);
  }
  return a.size() < b.size();
}

}  // namespace

PathSet::PathSet(std::vector<Path> paths) : sorted_(std::move(paths)) {
  std::sort(sorted_.begin(), sorted_.end(), before);
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  for (const Path& path : sorted_) {
    if (widest_.empty() || !covers(widest_.back(), path)) widest_.push_back(path);
  }
}

const Path* PathSet::covering(std::string_view path) const {
  auto next = std::upper_bound(widest_.begin(), widest_.end(), path, before);
  if (next == widest_.begin()) return nullptr;
  --next;
  return covers(*next, path) ? &*next : nullptr;
}

const Path* PathSet::inside(std::string_view path) const {
  const auto next = std::lower_bound(sorted_.begin(), sorted_.end(), path, before);
  return next != sorted_.end() && covers(path, *next) ? &*next : nullptr;
}

std::vector<Path> PathSet::all_inside(std::string_view path) const {
  const auto first = std::lower_bound(sorted_.begin(), sorted_.end(), path, before);
  const auto last = std::find_if_not(first, sorted_.end(), [&](const Path& other) { return covers(path, other); });
  return {first, last};
}

const Path* PathSet::overlapping(std::string_view path) const {
  const Path* found = covering(path);
  return found != nullptr ? found : inside(path);
}

bool PathSet::contains(std::string_view path) const {
  return std::binary_search(sorted_.begin(), sorted_.end(), path, before);
}

}  // namespace loom
