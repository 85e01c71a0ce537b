// Many covers() questions at once. A list of roots comes from a peer and may hold a million of them: comparing every
// pair would let one document stop a broker, so the lists are sorted once and each question is a binary search.
// Ownership: a copy of the paths. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "policy/model.h"

namespace loom {

class PathSet {
 public:
  explicit PathSet(std::vector<Path> paths);

  // The widest path of the set that covers `path`, or nullptr.
  [[nodiscard]] const Path* covering(std::string_view path) const;
  // Some path of the set that `path` covers, or nullptr.
  [[nodiscard]] const Path* inside(std::string_view path) const;
  // All of them, in order.
  [[nodiscard]] std::vector<Path> all_inside(std::string_view path) const;
  // Either of the two.
  [[nodiscard]] const Path* overlapping(std::string_view path) const;
  [[nodiscard]] bool contains(std::string_view path) const;

 private:
  std::vector<Path> sorted_;  // by component, so that what a path covers stands in one run behind it
  std::vector<Path> widest_;  // those that no other covers, in the same order
};

}  // namespace loom
