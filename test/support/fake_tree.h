// A host's file tree in memory, for the plan: what lstat and readlink would say.
#pragma once

#include <map>
#include <string>

#include "plan/mount_plan.h"
#include "plan/path_index.h"

namespace loom::test {

class FakeTree {
 public:
  FakeTree() { make("/", NodeKind::kDirectory); }

  // Each makes the directories above as well.
  NodeFacts& directory(const Path& path) { return make(path, NodeKind::kDirectory); }
  NodeFacts& file(const Path& path) { return make(path, NodeKind::kFile); }
  NodeFacts& socket(const Path& path) { return make(path, NodeKind::kOther); }
  NodeFacts& link(const Path& path, const std::string& text) {
    NodeFacts& facts = make(path, NodeKind::kSymlink);
    facts.target = text;
    return facts;
  }
  // A name that the host will not let us look at.
  NodeFacts& denied(const Path& path) {
    NodeFacts& facts = make(path, NodeKind::kMissing);
    facts.missing_why = "permission denied";
    return facts;
  }
  // A merged-usr system.
  void system() {
    for (const char* path : {"/usr/bin", "/usr/lib", "/usr/sbin", "/etc", "/opt", "/home", "/var", "/run", "/tmp"}) {
      directory(path);
    }
    for (const char* name : {"bin", "sbin", "lib"}) link(std::string("/") + name, std::string("usr/") + name);
  }

  [[nodiscard]] HostFacts facts() const {
    HostFacts host;
    host.look = [nodes = nodes_](const Path& path) {
      const auto found = nodes.find(path);
      return found == nodes.end() ? NodeFacts{} : found->second;
    };
    return host;
  }
  [[nodiscard]] const std::map<Path, NodeFacts>& nodes() const { return nodes_; }

 private:
  NodeFacts& make(const Path& path, NodeKind kind) {
    if (path != "/" && nodes_.count(Path(parent_of(path))) == 0) make(Path(parent_of(path)), NodeKind::kDirectory);
    NodeFacts& facts = nodes_[path];
    facts.kind = kind;
    facts.device = 1;
    if (facts.inode == 0) facts.inode = ++last_inode_;
    return facts;
  }

  std::map<Path, NodeFacts> nodes_;
  std::uint64_t last_inode_ = 0;
};

}  // namespace loom::test
