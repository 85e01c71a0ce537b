// Which of many paths covers one path, in time that depends on the depth of the path and not on how many there are:
// policies of ten thousand paths must plan in linear time (spec/performance.md "growth"). Internal to libloom/plan.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "policy/model.h"

namespace loom {

// The parent of an absolute canonical path; "" above "/".
[[nodiscard]] inline std::string_view parent_of(std::string_view path) {
  if (path.size() <= 1) return {};
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

[[nodiscard]] inline Path join(std::string_view parent, std::string_view name) {
  Path path(parent);
  if (path != "/") path += '/';
  return path.append(name);
}

[[nodiscard]] inline std::size_t depth_of(std::string_view path) {
  if (path == "/") return 0;
  std::size_t depth = 0;
  for (const char c : path) depth += c == '/' ? 1 : 0;
  return depth;
}

// Paths, each with a number of the caller's. Agrees with covers().
class PathIndex {
 public:
  // The first number given for a path stays.
  void add(const Path& path, std::size_t number) { numbers_.emplace(path, number); }
  void replace(const Path& path, std::size_t number) { numbers_[path] = number; }

  [[nodiscard]] std::optional<std::size_t> at(std::string_view path) const {
    const auto found = numbers_.find(Path(path));
    return found == numbers_.end() ? std::nullopt : std::optional<std::size_t>(found->second);
  }
  // Of the paths that cover this one, the most specific.
  [[nodiscard]] std::optional<std::size_t> deepest_cover(std::string_view path) const {
    for (; !path.empty(); path = parent_of(path)) {
      if (const auto number = at(path)) return number;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> deepest_strict_cover(std::string_view path) const {
    return deepest_cover(parent_of(path));
  }
  [[nodiscard]] bool covers_any(std::string_view path) const { return deepest_cover(path).has_value(); }

 private:
  std::unordered_map<Path, std::size_t> numbers_;
};

}  // namespace loom
