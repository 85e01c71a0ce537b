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
    for (std::vector<PlanOp>* ops : {&pins_, &frozen_, &masks_, &placeholders_}) {
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
    return guard(asked);
  }

  // The first component of the entry that is not there, or "" where no placeholder can stand: what is in the way is no
  // directory, or a link of the tree's own leads there.
  Path first_missing(const Asked& asked) {
    for (const PassedLink& link : asked.at.links) {
      if (draft_.writable_index.deepest_strict_cover(link.at)) return {};
    }
    Path missing = asked.at.real;
    while (draft_.walker.look(Path(parent_of(missing))).kind == NodeKind::kMissing) missing = Path(parent_of(missing));
    return draft_.walker.look(Path(parent_of(missing))).kind == NodeKind::kDirectory ? missing : Path();
  }

  bool leave_unguarded(const Asked& asked, std::string why) {
    draft_.plan.guards.push_back({asked.path, asked.at.real, {}});
    draft_.plan.events.push_back("unguarded=" + asked.path);
    return idle_unless_answered(asked, std::move(why));
  }

  // Always false: what the entry needs is planned here.
  bool guard(const Asked& asked) {
    const Path missing = first_missing(asked);
    if (missing.empty()) return leave_unguarded(asked, "absent, and unguarded");
    if (const auto placed = placed_.at(missing)) {
      PlanOp& op = placeholders_[*placed];
      const std::string why = "absent, and kept so by the placeholder at " + missing;
      if (asked.op == OpClass::kFrozen) {
        idle_unless_answered(asked, why);
      } else {
        // The stricter of the two decides.
        draft_.plan.idle.push_back({op.entry, op.entry_path, why});
        op.entry = asked.entry;
        op.entry_path = asked.path;
      }
    } else if (placeholders_.size() < kMostPlaceholders) {
      placed_.add(missing, placeholders_.size());
      placeholders_.push_back(placeholder_at(missing, asked));
      pin_above(missing, asked);
    } else {
      return leave_unguarded(asked, "absent, and unguarded: there are too many like it");
    }
    draft_.plan.guards.push_back({asked.path, asked.at.real, missing});
    return false;
  }

  // What git reads as a file has to be one, with a content that changes nothing.
  PlanOp placeholder_at(const Path& missing, const Asked& asked) {
    const Path parent(parent_of(missing));
    const std::string_view name = std::string_view(missing).substr(missing.rfind('/') + 1);
    const NodeFacts& above = draft_.walker.look(parent);
    PlanOp op = make_op(asked, OpClass::kPlaceholder, Access::kReadOnly);
    op.path = missing;
    op.kind = NodeKind::kDirectory;
    op.device = above.device;
    op.inode = above.inode;
    const bool read_by_git = name == "commondir" || name == "config.worktree";
    if (read_by_git && draft_.walker.look(join(parent, "HEAD")).kind == NodeKind::kFile) {
      op.kind = NodeKind::kFile;
      op.target = name == "commondir" ? "." : "";
    }
    return op;
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
  PathIndex placed_;  // first missing component -> placeholders_
  std::vector<PlanOp> pins_, frozen_, masks_, placeholders_;
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
