// The host side of a plan's operation: the source opened without links, held against what the plan looked at, cloned
// away from the host's tree and given its flags (spec/jail.md "Sources are the attacker's too", "Started by root").
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"
#include "plan/mount_plan.h"

namespace loom::helper {

// A detached tree, and where it belongs in the jail.
struct Tree {
  Path path;
  UniqueFd mount;
  NodeKind kind = NodeKind::kDirectory;
};

struct TakenSource {
  std::vector<Tree> trees;  // the source's own first, then mounts below it that came one by one; none: left out
  std::vector<std::string> left_out;  // mounts below it that cannot be idmapped
};

// `idmap`: the user namespace of a root start's trees, or -1. Errors: plan_refused (source_changed,
// source_through_link, cannot_idmap), missing_path, spawn_failed. `named` tells whether the policy itself names a path:
// a mount that cannot be idmapped is left out unless it is named.
[[nodiscard]] Result<TakenSource> take_source(const PlanOp& op, int idmap, const MountPlan& plan);

// The mount attributes of an operation.
[[nodiscard]] std::uint64_t mount_attributes(const PlanOp& op);

// Mount points strictly below a path, outermost first, from the text of a mountinfo file. Pure.
[[nodiscard]] std::vector<Path> mounts_below(std::string_view mountinfo, const Path& path);

}  // namespace loom::helper
