// Whatever the tree, the links in it and the policy: the plan shows nothing outside the roots, and takes back what the
// policy takes back. Held against an oracle of its own, which follows links naively.
#include <algorithm>
#include <optional>

#include "plan/landlock_rules.h"
#include "plan/mount_plan.h"
#include "policy/covers.h"
#include "test/support/fake_tree.h"
#include "test/support/property.h"

namespace loom {
namespace {

using test::FakeTree;
using test::property;

struct Node {
  Path path;
  int kind = 0;  // 0 to 3: directory, 4, 5: file, 6: link, 7: link to a relative name
  Path target;
};

void showValue(const Node& node, std::ostream& out) {
  out << node.path << (node.kind < 4 ? "/" : "") << (node.kind > 5 ? " -> " + node.target : "");
}

struct World {
  FakeTree tree;
  Policy policy;
};

rc::Gen<Path> any_path() {
  return rc::gen::map(
      rc::gen::resize(3, rc::gen::nonEmpty(rc::gen::container<std::vector<char>>(rc::gen::element('a', 'b')))),
      [](const std::vector<char>& names) {
        Path path;
        for (const char name : names) path.append("/").push_back(name);
        return path;
      });
}

rc::Gen<Node> any_node() {
  return rc::gen::construct<Node>(any_path(), rc::gen::element(0, 1, 2, 3, 4, 5, 6, 7), any_path());
}

// Mostly of the tree; so that entries meet what is there, its links above all.
rc::Gen<Path> entry_for(const FakeTree& tree) {
  std::vector<Path> present;
  for (const auto& [path, facts] : tree.nodes()) {
    if (path.size() > 1) present.push_back(path);
  }
  return rc::gen::oneOf(rc::gen::elementOf(present), rc::gen::elementOf(present), any_path());
}

rc::Gen<std::vector<Path>> some_entries(const FakeTree& tree, int most) {
  return rc::gen::resize(most, rc::gen::container<std::vector<Path>>(entry_for(tree)));
}

FakeTree grown(const std::vector<Node>& nodes) {
  FakeTree tree;
  tree.directory("/usr");
  for (const Node& node : nodes) {
    bool room = tree.nodes().count(node.path) == 0;
    for (Path above(parent_of(node.path)); !above.empty(); above = Path(parent_of(above))) {
      const auto found = tree.nodes().find(above);
      room = room && (found == tree.nodes().end() || found->second.kind == NodeKind::kDirectory);
    }
    if (!room) continue;
    if (node.kind < 4) {
      tree.directory(node.path);
    } else if (node.kind < 6) {
      tree.file(node.path);
    } else {
      tree.link(node.path, node.kind == 6 ? node.target : node.target.substr(1));
    }
  }
  return tree;
}

World any_world() {
  World world;
  world.tree = grown(*rc::gen::resize(12, rc::gen::container<std::vector<Node>>(any_node())).as("tree"));
  Policy& policy = world.policy;
  policy.writable_roots = *some_entries(world.tree, 3).as("writable");
  policy.readable_roots = *some_entries(world.tree, 3).as("readable");
  policy.frozen = *some_entries(world.tree, 3).as("frozen");
  policy.protected_paths = *some_entries(world.tree, 2).as("protected");
  if (*rc::gen::element(0, 1, 2, 3) == 0) policy.scratch.host_path = *entry_for(world.tree).as("scratch");
  for (const Path& path : *some_entries(world.tree, 2).as("mounts")) {
    policy.mounts.push_back({path, *rc::gen::element(Access::kReadOnly, Access::kReadWrite), false});
  }
  return world;
}

// The oracle: rewrites the first link of the path until there is none, and notes each. Nothing for what is absent or
// loops.
std::optional<Path> real_of(const FakeTree& tree, Path path, std::vector<Path>* passed = nullptr) {
  for (int round = 0; round < 41; ++round) {
    std::size_t end = 0;
    const NodeFacts* facts = nullptr;
    do {
      end = path.find('/', end + 1);
      const auto found = tree.nodes().find(path.substr(0, end));
      if (found == tree.nodes().end()) return std::nullopt;
      facts = &found->second;
    } while (facts->kind != NodeKind::kSymlink && end != Path::npos);
    if (facts->kind != NodeKind::kSymlink) return path;
    const Path at = path.substr(0, end);
    if (passed != nullptr) passed->push_back(at);
    const Path rest = end == Path::npos ? Path() : path.substr(end);
    path = (facts->target.front() == '/' ? facts->target : join(parent_of(at), facts->target)) + rest;
  }
  return std::nullopt;
}

// Absent roots only refuse: they are left out before the plan is asked.
std::optional<MountPlan> planned(World& world) {
  auto& roots = world.policy.writable_roots;
  roots.erase(std::remove_if(roots.begin(), roots.end(), [&](const Path& p) { return !real_of(world.tree, p); }),
              roots.end());
  auto plan = mount_plan(world.policy, world.tree.facts());
  if (!plan) return std::nullopt;
  return *plan;
}

bool covered_by(const FakeTree& tree, const std::vector<Path>& entries, const Path& real) {
  return std::any_of(entries.begin(), entries.end(), [&](const Path& entry) {
    const auto where = real_of(tree, entry);
    return where && covers(*where, real);
  });
}

std::vector<Path> mounts_with(const Policy& policy, Access access) {
  std::vector<Path> paths;
  for (const Mount& mount : policy.mounts) {
    if (mount.access == access) paths.push_back(mount.path);
  }
  return paths;
}

bool may_be_written(const World& world, const Path& real) {
  const Policy& policy = world.policy;
  return covered_by(world.tree, policy.writable_roots, real) ||
         covered_by(world.tree, mounts_with(policy, Access::kReadWrite), real) ||
         (!policy.scratch.is_tmpfs() && covered_by(world.tree, {policy.scratch.host_path}, real));
}

bool may_be_read(const World& world, const Path& real) {
  return may_be_written(world, real) || covered_by(world.tree, world.policy.readable_roots, real) ||
         covered_by(world.tree, mounts_with(world.policy, Access::kReadOnly), real) || covers("/usr", real);
}

bool is_bind(const PlanOp& op) {
  return op.op != OpClass::kSymlink;
}

TEST(MountPlanProperties, NothingOutsideTheRootsIsShownOrWritable) {
  property("every operation lies in a root that gives what it gives", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    for (const PlanOp& op : plan->ops) {
      if (!is_bind(op) || (op.op == OpClass::kScratch && plan->scratch_is_tmpfs)) continue;
      const bool writes = op.access == Access::kReadWrite;
      RC_ASSERT((writes ? may_be_written(world, op.path) : may_be_read(world, op.path)));
    }
    for (const auto& [path, facts] : world.tree.nodes()) {
      if (real_of(world.tree, path) != path) continue;
      const PathVerdict verdict = judge_path(*plan, path);
      if (verdict.access == PathAccess::kWrite) RC_ASSERT(may_be_written(world, path));
      if (verdict.access == PathAccess::kRead && verdict.entry != "base") RC_ASSERT(may_be_read(world, path));
    }
  });
}

TEST(MountPlanProperties, WhatIsFrozenIsNotWritableAndWhatIsProtectedIsHidden) {
  property("frozen and protected hold whatever grants surround them", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    for (const auto& [path, facts] : world.tree.nodes()) {
      if (real_of(world.tree, path) != path) continue;
      const PathVerdict verdict = judge_path(*plan, path);
      if (covered_by(world.tree, world.policy.frozen, path)) RC_ASSERT(verdict.access != PathAccess::kWrite);
      if (covered_by(world.tree, world.policy.protected_paths, path)) {
        RC_ASSERT(verdict.access == PathAccess::kHidden || verdict.access == PathAccess::kNone);
      }
    }
  });
}

int rank(const PlanOp& op) {
  switch (op.op) {
    case OpClass::kBase:
      return 0;
    case OpClass::kReadable:
    case OpClass::kWritable:
    case OpClass::kScratch:
      return 1;
    case OpClass::kSymlink:
      return op.entry == "base" ? 0 : 2;
    case OpClass::kPin:
      return 3;
    case OpClass::kFrozen:
      return 4;
    case OpClass::kMaskDir:
    case OpClass::kMaskFile:
      return 5;
    case OpClass::kPlaceholder:
      return 6;
    case OpClass::kMount:
      return 7;
  }
  return 0;
}

TEST(MountPlanProperties, NothingWidensAfterTheGrants) {
  property("grants, then pins, then frozen, then masks, then mounts; within each the shallower first", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    for (std::size_t i = 1; i < plan->ops.size(); ++i) {
      const PlanOp& before = plan->ops[i - 1];
      const PlanOp& after = plan->ops[i];
      // A frozen entry above a writable root stands among the grants, in that root's place.
      if (before.op == OpClass::kFrozen && rank(after) < rank(before)) continue;
      RC_ASSERT(rank(before) <= rank(after) || after.op == OpClass::kFrozen);
      const bool ordered = before.op != OpClass::kFrozen && before.op != OpClass::kMount && before.op != OpClass::kBase;
      if (before.op == after.op && ordered && is_bind(before)) {
        RC_ASSERT(depth_of(before.path) <= depth_of(after.path));
      }
    }
  });
}

TEST(MountPlanProperties, EveryAncestorOfWhatIsTakenBackIsPinned) {
  property("no name above a frozen or protected entry can be moved by the command", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    const auto has = [&](OpClass op, const Path& path) {
      return std::any_of(plan->ops.begin(), plan->ops.end(),
                         [&](const PlanOp& o) { return o.op == op && o.path == path; });
    };
    for (const PlanOp& op : plan->ops) {
      const bool taken_back = op.op == OpClass::kFrozen || op.op == OpClass::kMaskDir || op.op == OpClass::kMaskFile ||
                              op.op == OpClass::kPin || op.op == OpClass::kPlaceholder;
      if (!taken_back) continue;
      for (Path above(parent_of(op.path)); above.size() > 1; above = Path(parent_of(above))) {
        if (judge_path(*plan, Path(parent_of(above))).access != PathAccess::kWrite) continue;
        RC_ASSERT(has(OpClass::kPin, above) || has(OpClass::kFrozen, above));
      }
    }
  });
}

TEST(MountPlanProperties, ALinkThatIsAnEntryCannotBeReplaced) {
  property("a frozen or protected link in a writable place is pinned", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    std::vector<Path> entries = world.policy.frozen;
    entries.insert(entries.end(), world.policy.protected_paths.begin(), world.policy.protected_paths.end());
    for (const Path& entry : entries) {
      const Path parent(parent_of(entry));
      const auto found = world.tree.nodes().find(entry);
      if (found == world.tree.nodes().end() || found->second.kind != NodeKind::kSymlink) continue;
      if (judge_path(*plan, parent).access != PathAccess::kWrite) continue;
      RC_ASSERT(std::any_of(plan->ops.begin(), plan->ops.end(), [&](const PlanOp& op) {
        return op.op == OpClass::kPin && op.path == entry && op.kind == NodeKind::kSymlink;
      }));
    }
  });
}

TEST(MountPlanProperties, NoOperationPassesALink) {
  property("sources and destinations are without links; only a pin may be of a link itself", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    for (const PlanOp& op : plan->ops) {
      if (!is_bind(op) || (op.op == OpClass::kScratch && plan->scratch_is_tmpfs)) continue;
      if (op.op == OpClass::kPlaceholder) {
        const Path parent(parent_of(op.path));
        RC_ASSERT(world.tree.nodes().count(op.path) == 0);
        RC_ASSERT(real_of(world.tree, parent) == parent);
        RC_ASSERT(op.inode == world.tree.nodes().at(parent).inode);
        continue;
      }
      const bool link_itself = op.op == OpClass::kPin && op.kind == NodeKind::kSymlink;
      RC_ASSERT(real_of(world.tree, link_itself ? Path(parent_of(op.path)) : op.path) ==
                (link_itself ? Path(parent_of(op.path)) : op.path));
      RC_ASSERT(op.inode == world.tree.nodes().at(op.path).inode);
    }
  });
}

TEST(MountPlanProperties, ALinkBelowAWritableRootIsNeverFollowedToASource) {
  property("where there is a plan, no root and no mount passed a link that a command could have planted", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    std::vector<Path> writable = world.policy.writable_roots;
    if (!world.policy.scratch.is_tmpfs()) writable.push_back(world.policy.scratch.host_path);
    std::vector<Path> sources = writable;
    for (const Path& path : world.policy.readable_roots) sources.push_back(path);
    for (const Mount& mount : world.policy.mounts) sources.push_back(mount.path);
    for (const Path& source : sources) {
      std::vector<Path> passed;
      if (!real_of(world.tree, source, &passed)) continue;
      for (const Path& link : passed) {
        for (const Path& root : writable) RC_ASSERT(!covers_strictly(real_of(world.tree, root).value(), link));
      }
    }
  });
}

int strength(PathAccess access) {
  switch (access) {
    case PathAccess::kNone:
    case PathAccess::kHidden:
      return 0;
    case PathAccess::kRead:
      return 1;
    case PathAccess::kWrite:
      return 2;
  }
  return 0;
}

TEST(MountPlanProperties, AddingAFrozenOrProtectedEntryNeverWidens) {
  property("less or the same is allowed everywhere", [] {
    World world = any_world();
    World narrower = world;
    (*rc::gen::arbitrary<bool>() ? narrower.policy.frozen : narrower.policy.protected_paths)
        .push_back(*any_path().as("added"));
    const auto before = planned(world);
    const auto after = planned(narrower);
    RC_PRE(before.has_value() && after.has_value());
    for (const auto& [path, facts] : world.tree.nodes()) {
      if (real_of(world.tree, path) != path) continue;
      const PathVerdict was = judge_path(*before, path);
      const PathVerdict is = judge_path(*after, path);
      RC_ASSERT(strength(is.access) <= strength(was.access));
    }
  });
}

TEST(MountPlanProperties, LandlockIsWeakerThanTheMounts) {
  property("what the plan allows, Landlock's rules allow", [] {
    World world = any_world();
    const auto plan = planned(world);
    RC_PRE(plan.has_value());
    const LandlockPlan rules = landlock_plan(*plan, NetworkMode::kOff, landlock::kNewestAbi);
    for (const auto& [path, facts] : world.tree.nodes()) {
      if (facts.kind != NodeKind::kFile) continue;
      std::uint64_t opened = 0;
      for (const LandlockRule& rule : rules.rules) opened |= covers(rule.path, path) ? rule.access : 0;
      const PathAccess access = judge_path(*plan, path).access;
      if (access == PathAccess::kWrite) RC_ASSERT((opened & landlock::kWriteFile) != 0);
      if (access == PathAccess::kRead) RC_ASSERT((opened & landlock::kReadFile) != 0);
    }
  });
}

}  // namespace
}  // namespace loom
