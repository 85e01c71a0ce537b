// Where the tree's test data lies, seen from this file's own compile-time path: tests run from the root of the tree.
#pragma once

#include <string>

namespace loom::test {

[[nodiscard]] inline std::string tree_path(const std::string& below_root) {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind("test/support/")) + below_root;
}

}  // namespace loom::test
