#include "policy/covers.h"

namespace loom {

bool covers(std::string_view root, std::string_view path) {
  if (root == "/") return !path.empty() && path.front() == '/';
  if (root.empty() || path.substr(0, root.size()) != root) return false;
  return path.size() == root.size() || path[root.size()] == '/';
}

bool covers_strictly(std::string_view root, std::string_view path) {
  return root != path && covers(root, path);
}

}  // namespace loom
