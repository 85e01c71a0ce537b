// A plan while it is made: what the policy asks, walked on the host, and the indexes every step asks. Internal to
// libloom/plan; mount_plan.cc runs the steps in order.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plan/mount_plan.h"
#include "plan/path_index.h"
#include "plan/walk.h"

namespace loom {

// One entry of the policy and where it really lies.
struct Asked {
  OpClass op = OpClass::kReadable;
  Access access = Access::kReadOnly;
  std::string entry;  // "frozen[2]"
  Path path;          // as written
  Walked at;
  bool required = true;  // explicit mounts
};

struct Draft {
  Draft(const Policy& asked_policy, const HostFacts& host_facts)
      : policy(asked_policy), host(host_facts), walker(host_facts) {}

  const Policy& policy;
  const HostFacts& host;
  Walker walker;
  std::vector<Asked> grants;  // readable, writable, host scratch, in the policy's order
  std::vector<Asked> mounts;
  std::vector<Asked> frozen;
  std::vector<Asked> protected_;
  PathIndex writable_index;        // real path -> grants, the writable ones
  PathIndex frozen_index;          // real path -> frozen, present ones
  PathIndex protected_index;       // real path -> protected_, present ones
  PathIndex regions;               // real path -> plan.ops: what is bound where, after the grants
  std::set<std::string> answered;  // entries that have an operation
  MountPlan plan;

  // The operation whose region a path lies in, or nullptr.
  [[nodiscard]] const PlanOp* region(std::string_view real) const {
    const auto number = regions.deepest_cover(real);
    return number ? &plan.ops[*number] : nullptr;
  }
  [[nodiscard]] bool is_tmpfs(const PlanOp& op) const { return op.op == OpClass::kScratch && plan.scratch_is_tmpfs; }
  // In a root of the host that the command may write.
  [[nodiscard]] bool in_writable(std::string_view real) const {
    const PlanOp* op = region(real);
    return op != nullptr && op->access == Access::kReadWrite && !is_tmpfs(*op);
  }
  void idle(const Asked& asked, std::string why) { plan.idle.push_back({asked.entry, asked.path, std::move(why)}); }
};

[[nodiscard]] PlanOp make_op(const Asked& asked, OpClass op, Access access);

// The order of operations of one class: what is mounted deeper comes later.
[[nodiscard]] bool shallower(const PlanOp& a, const PlanOp& b);

// The steps. Each refuses in the words of mount_plan.h.
[[nodiscard]] Status collect_entries(Draft& draft);  // walks everything; missing_path
[[nodiscard]] Status judge_sources(Draft& draft);    // source_through_link, mount_refused, ...
void plan_grants(Draft& draft);                      // base, grants, scratch, links
void plan_subtractions(Draft& draft);                // pins, frozen, masks
void plan_mounts(Draft& draft);

}  // namespace loom
