// Following the links of the host's tree, purely: which path is really meant, which links were passed on the way, what
// is missing. Internal to libloom/plan. Carries out: spec/jail.md "Sources are the attacker's too", "Masks", "Missing".
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "plan/mount_plan.h"

namespace loom {

struct PassedLink {
  Path at;  // without links above
  Path text;
  bool final =
      false;  // no component of the asked path was left: its last component is a link (or that link led to this one)
};

struct Walked {
  Path real;        // without links; where something is missing, the rest as written
  NodeFacts facts;  // of real
  std::vector<PassedLink> links;
  std::string missing_why;  // kMissing: "no such file or directory", "not a directory", "too many links", ...
  bool unseen = false;      // missing only for want of a look: the host refused it
  [[nodiscard]] bool missing() const { return facts.kind == NodeKind::kMissing; }
};

class Walker {
 public:
  explicit Walker(const HostFacts& host) : host_(host) {}
  // Asks the host once a path.
  const NodeFacts& look(const Path& path);
  [[nodiscard]] Walked walk(const Path& path);

 private:
  const HostFacts& host_;
  std::unordered_map<Path, NodeFacts> seen_;
};

}  // namespace loom
