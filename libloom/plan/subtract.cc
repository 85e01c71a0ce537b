// What the grants show and the policy takes back: pins, frozen binds, masks. Nothing after them widens.
#include <algorithm>
#include <utility>

#include "plan/draft.h"
#include "policy/covers.h"

namespace loom {
namespace {

class Subtraction {
 public:
  explicit Subtraction(Draft& draft) : draft_(draft) {}

  void run() {
    for (const Asked& asked : draft_.frozen) freeze(asked);
    for (const Asked& asked : draft_.protected_) mask(asked);
    for (const Asked& mount : draft_.mounts) {
      // A read-only mount under a writable root restricts: renaming what leads to it must not undo that.
      if (mount.access == Access::kReadOnly) pin_above(mount.at.real, mount);
    }
    for (std::vector<PlanOp>* ops : {&pins_, &frozen_, &masks_}) {
      std::sort(ops->begin(), ops->end(), shallower);
      std::move(ops->begin(), ops->end(), std::back_inserter(draft_.plan.ops));
    }
  }

 private:
  // Common to both verbs: what needs no operation, and what is said. True where one is needed.
  bool concerns(const Asked& asked) {
    if (asked.at.facts.kind == NodeKind::kFile && asked.at.facts.links > 1) {
      draft_.plan.events.push_back("hardlink-alias=" + asked.path);
    }
    pin_links(asked);
    const PlanOp* region = draft_.region(asked.at.real);
    if (region == nullptr) return idle_unless_answered(asked, "nothing shows it");
    if (draft_.is_tmpfs(*region)) return idle_unless_answered(asked, "the scratch is the jail's own there");
    if (!asked.at.missing()) return true;
    if (!writable_still(asked.at.real)) return idle_unless_answered(asked, "absent, and cannot be made");
    draft_.plan.events.push_back("unguarded=" + asked.path);
    return idle_unless_answered(asked, "absent, and unguarded");
  }

  bool idle_unless_answered(const Asked& asked, std::string why) {
    if (draft_.answered.count(asked.entry) == 0) draft_.idle(asked, std::move(why));
    return false;
  }

  void freeze(const Asked& asked) {
    if (!concerns(asked)) return;
    const Path& real = asked.at.real;
    if (const auto hidden = draft_.protected_index.deepest_cover(real)) {
      idle_unless_answered(asked, "hidden: " + draft_.protected_[*hidden].entry + " covers it");
      return;
    }
    if (!draft_.in_writable(real)) {
      idle_unless_answered(asked, "read-only already");
      return;
    }
    if (idle_inside(asked, draft_.frozen, draft_.frozen_index)) return;
    pin_above(real, asked);
    frozen_.push_back(make_op(asked, OpClass::kFrozen, Access::kReadOnly));
  }

  void mask(const Asked& asked) {
    if (!concerns(asked) || idle_inside(asked, draft_.protected_, draft_.protected_index)) return;
    pin_above(asked.at.real, asked);
    const bool directory = asked.at.facts.kind == NodeKind::kDirectory;
    masks_.push_back(make_op(asked, directory ? OpClass::kMaskDir : OpClass::kMaskFile, Access::kReadOnly));
  }

  // Another entry of the same verb, at the same place earlier or above, does the work.
  bool idle_inside(const Asked& asked, const std::vector<Asked>& entries, const PathIndex& index) {
    const Asked* other = nullptr;
    if (const auto above = index.deepest_strict_cover(asked.at.real)) {
      other = &entries[*above];
    } else if (&entries[*index.at(asked.at.real)] != &asked) {
      other = &entries[*index.at(asked.at.real)];
    }
    if (other == nullptr) return false;
    idle_unless_answered(asked, "inside " + other->entry);
    return true;
  }

  // In a writable root, and neither frozen nor masked.
  [[nodiscard]] bool writable_still(std::string_view real) const {
    return draft_.in_writable(real) && !draft_.frozen_index.covers_any(real) &&
           !draft_.protected_index.covers_any(real);
  }

  // Could the command take this name away from its place?
  [[nodiscard]] bool movable(std::string_view real) const { return writable_still(parent_of(real)); }

  void pin_above(std::string_view real, const Asked& asked) {
    for (std::string_view path = parent_of(real); !path.empty() && path != "/"; path = parent_of(path)) {
      if (movable(path) && !draft_.frozen_index.covers_any(path)) pin(Path(path), NodeKind::kDirectory, asked);
    }
  }

  void pin_links(const Asked& asked) {
    for (const PassedLink& link : asked.at.links) {
      if (!link.final || !movable(link.at)) continue;
      pin(link.at, NodeKind::kSymlink, asked);
      pin_above(link.at, asked);
    }
  }

  void pin(const Path& path, NodeKind kind, const Asked& asked) {
    if (pinned_.at(path)) return;
    pinned_.add(path, 0);
    const NodeFacts& facts = draft_.walker.look(path);
    PlanOp op = make_op(asked, OpClass::kPin, Access::kReadWrite);
    op.path = path;
    op.kind = kind;
    op.device = facts.device;
    op.inode = facts.inode;
    op.target = facts.target;
    pins_.push_back(std::move(op));
  }

  Draft& draft_;
  PathIndex pinned_;
  std::vector<PlanOp> pins_, frozen_, masks_;
};

}  // namespace

void plan_subtractions(Draft& draft) {
  Subtraction(draft).run();
}

void plan_mounts(Draft& draft) {
  std::vector<PlanOp> mounts;
  for (const Asked& mount : draft.mounts) mounts.push_back(make_op(mount, OpClass::kMount, mount.access));
  std::sort(mounts.begin(), mounts.end(), shallower);
  std::move(mounts.begin(), mounts.end(), std::back_inserter(draft.plan.ops));
}

}  // namespace loom
