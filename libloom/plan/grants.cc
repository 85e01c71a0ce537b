// What the jail shows: the base view, then the grants, the more specific later, and the links that lead to them.
#include <algorithm>
#include <utility>

#include "plan/base_view.h"
#include "plan/draft.h"
#include "policy/covers.h"

namespace loom {
namespace {

constexpr const char* kTmpfsScratch = "/tmp";

void append(Draft& draft, PlanOp op) {
  draft.answered.insert(op.entry);
  draft.plan.ops.push_back(std::move(op));
}

// Binds get their region; the index is of plan.ops, so this comes after the last of them was placed.
void index_regions(Draft& draft) {
  for (std::size_t i = 0; i < draft.plan.ops.size(); ++i) {
    const PlanOp& op = draft.plan.ops[i];
    if (op.op != OpClass::kSymlink) draft.regions.replace(op.path, i);
  }
}

// Where a frozen entry lies at or above a writable grant, nothing of the grant is left but its being read; inside a
// wider writable root not even that needs an operation of its own: the frozen bind will do it.
bool frozen_by_outer(const Draft& draft, const Asked& grant) {
  auto outer = draft.writable_index.deepest_strict_cover(grant.at.real);
  while (outer) {
    const Path& real = draft.grants[*outer].at.real;
    if (!draft.frozen_index.covers_any(real)) return true;
    outer = draft.writable_index.deepest_strict_cover(real);
  }
  return false;
}

void place_writable(Draft& draft, const Asked& grant, std::vector<PlanOp>& placed) {
  const auto frozen = draft.frozen_index.deepest_cover(grant.at.real);
  if (!frozen) {
    placed.push_back(make_op(grant, grant.op, grant.access));
    return;
  }
  const Asked& by = draft.frozen[*frozen];
  draft.idle(grant, "read-only: " + by.entry + " covers it");
  if (frozen_by_outer(draft, grant)) return;
  PlanOp op = make_op(grant, OpClass::kFrozen, Access::kReadOnly);
  op.entry = by.entry;
  op.entry_path = by.path;
  placed.push_back(std::move(op));
}

void place_grant(Draft& draft, std::size_t number, std::vector<PlanOp>& placed) {
  const Asked& grant = draft.grants[number];
  if (const auto hidden = draft.protected_index.deepest_cover(grant.at.real)) {
    draft.idle(grant, "hidden: " + draft.protected_[*hidden].entry + " covers it");
    return;
  }
  if (grant.op != OpClass::kReadable) {
    // The first of several that lead to one place stands for all.
    if (draft.writable_index.at(grant.at.real) == number) place_writable(draft, grant, placed);
    return;
  }
  if (const auto root = draft.writable_index.deepest_cover(grant.at.real)) {
    draft.idle(grant, "inside " + draft.grants[*root].entry);
    return;
  }
  placed.push_back(make_op(grant, OpClass::kReadable, Access::kReadOnly));
}

// A fresh tmpfs, unless a writable root is that very place: what the policy names is what stands there.
void place_scratch(Draft& draft, std::vector<PlanOp>& placed) {
  MountPlan& plan = draft.plan;
  plan.scratch = draft.policy.scratch.is_tmpfs() ? Path(kTmpfsScratch) : draft.policy.scratch.host_path;
  plan.scratch_is_tmpfs = draft.policy.scratch.is_tmpfs() && !draft.writable_index.at(kTmpfsScratch);
  if (!plan.scratch_is_tmpfs) return;
  plan.scratch_bytes = draft.host.scratch_bytes;
  placed.erase(std::remove_if(placed.begin(), placed.end(), [](const PlanOp& op) { return op.path == kTmpfsScratch; }),
               placed.end());
  PlanOp op;
  op.op = OpClass::kScratch;
  op.path = kTmpfsScratch;
  op.access = Access::kReadWrite;
  op.entry = "scratch";
  op.entry_path = "tmpfs";
  placed.push_back(std::move(op));
}

void place_base(Draft& draft, const std::vector<PlanOp>& grants) {
  PathIndex granted;
  for (std::size_t i = 0; i < grants.size(); ++i) granted.add(grants[i].path, i);
  for (PlanOp& op : base_view(draft.walker)) {
    const bool decided = granted.covers_any(op.path) || draft.protected_index.covers_any(op.path);
    if (decided) continue;
    if (op.op == OpClass::kSymlink) draft.plan.links.push_back({op.path, draft.walker.walk(op.path).real});
    append(draft, std::move(op));
  }
}

// A link that was followed to a grant and that nothing bound shows is made again, so that the path as written works.
void place_links(Draft& draft, const std::vector<Asked>& entries, PathIndex& made) {
  for (const Asked& asked : entries) {
    for (const PassedLink& link : asked.at.links) {
      const PlanOp* shown = draft.region(link.at);
      if (shown != nullptr && !draft.is_tmpfs(*shown)) continue;
      if (made.at(link.at) || draft.protected_index.covers_any(link.at)) continue;
      made.add(link.at, 0);
      PlanOp op = make_op(asked, OpClass::kSymlink, Access::kReadOnly);
      op.path = link.at;
      op.kind = NodeKind::kSymlink;
      op.device = op.inode = 0;
      op.target = link.text;
      append(draft, std::move(op));
    }
  }
}

void record_links(Draft& draft) {
  PathIndex seen;
  for (const FollowedLink& link : draft.plan.links) seen.add(link.from, 0);
  for (const auto* entries : {&draft.grants, &draft.mounts, &draft.frozen, &draft.protected_}) {
    for (const Asked& asked : *entries) {
      for (const PassedLink& link : asked.at.links) {
        if (seen.at(link.at)) continue;
        seen.add(link.at, 0);
        draft.plan.links.push_back({link.at, draft.walker.walk(link.at).real});
      }
    }
  }
}

void say_foreign_owners(Draft& draft) {
  if (!draft.host.root_start || draft.grants.empty()) return;
  const Path& workspace = draft.host.workspace.empty() ? draft.grants.front().path : draft.host.workspace;
  if (draft.host.workspace.empty() && draft.policy.writable_roots.empty()) return;
  const std::uint32_t owner = draft.walker.walk(workspace).facts.uid;
  for (const Asked& grant : draft.grants) {
    if (grant.at.real != "/" && grant.at.facts.uid != owner) draft.plan.events.push_back("foreign-owner=" + grant.path);
  }
}

}  // namespace

bool shallower(const PlanOp& a, const PlanOp& b) {
  const std::size_t left = depth_of(a.path);
  const std::size_t right = depth_of(b.path);
  return left != right ? left < right : a.path < b.path;
}

PlanOp make_op(const Asked& asked, OpClass op, Access access) {
  PlanOp made;
  made.op = op;
  made.path = asked.at.real;
  made.access = access;
  made.entry = asked.entry;
  made.entry_path = asked.path;
  made.kind = asked.at.facts.kind;
  made.device = asked.at.facts.device;
  made.inode = asked.at.facts.inode;
  return made;
}

void plan_grants(Draft& draft) {
  std::vector<PlanOp> placed;
  for (std::size_t i = 0; i < draft.grants.size(); ++i) place_grant(draft, i, placed);
  place_scratch(draft, placed);
  std::sort(placed.begin(), placed.end(), shallower);
  // Readable roots that lead to one place: one operation.
  placed.erase(
      std::unique(placed.begin(), placed.end(), [](const PlanOp& a, const PlanOp& b) { return a.path == b.path; }),
      placed.end());
  draft.plan.host_view = !placed.empty() && placed.front().path == "/";
  if (!draft.plan.host_view) place_base(draft, placed);
  PathIndex made;
  for (std::size_t i = 0; i < draft.plan.ops.size(); ++i) {
    if (draft.plan.ops[i].op == OpClass::kSymlink) made.add(draft.plan.ops[i].path, i);
  }
  for (PlanOp& op : placed) append(draft, std::move(op));
  index_regions(draft);
  place_links(draft, draft.grants, made);
  place_links(draft, draft.mounts, made);
  record_links(draft);
  say_foreign_owners(draft);
}

}  // namespace loom
