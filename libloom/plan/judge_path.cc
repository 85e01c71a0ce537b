// What the plan lets the command do at one path, and which entry decides.
#include <algorithm>
#include <array>

#include "plan/mount_plan.h"
#include "plan/path_index.h"
#include "policy/covers.h"

namespace loom {
namespace {

constexpr std::size_t kMaxLinks = 40;
constexpr std::string_view kFrozenList = "frozen[";

// The path without the links the plan knows of: those it followed, and the root links of the base view.
Path without_links(const MountPlan& plan, Path path) {
  for (std::size_t i = 0; i < kMaxLinks; ++i) {
    const auto link =
        std::find_if(plan.links.begin(), plan.links.end(), [&](const FollowedLink& l) { return covers(l.from, path); });
    if (link == plan.links.end()) break;
    const std::string rest = path.substr(link->from.size());
    path = link->to == "/" && !rest.empty() ? rest : link->to + rest;
  }
  return path;
}

// The last operation that covers the path stands on top. Pins and links change no access.
const PlanOp* deciding_op(const MountPlan& plan, const Path& real) {
  const auto found = std::find_if(plan.ops.rbegin(), plan.ops.rend(), [&](const PlanOp& op) {
    return op.op != OpClass::kPin && op.op != OpClass::kSymlink && covers(op.path, real);
  });
  return found == plan.ops.rend() ? nullptr : &*found;
}

// The jail's own /proc and /dev lie over whatever the plan binds at "/".
bool judge_own_trees(const Path& real, PathVerdict& verdict) {
  constexpr std::array<const char*, 9> kWritableDevices = {"/dev/null",   "/dev/zero",    "/dev/full",
                                                           "/dev/random", "/dev/urandom", "/dev/tty",
                                                           "/dev/ptmx",   "/dev/pts",     "/dev/shm"};
  if (covers("/proc", real)) {
    verdict = {PathAccess::kRead, "base", "the jail's own /proc: only its processes"};
    return true;
  }
  if (!covers("/dev", real)) return false;
  const bool device = std::any_of(kWritableDevices.begin(), kWritableDevices.end(),
                                  [&](const char* path) { return covers(path, real); });
  if (device) {
    verdict = {PathAccess::kWrite, "base", "the jail's own /dev"};
  } else if (real == "/dev") {
    verdict = {PathAccess::kRead, "base", "the jail's own /dev"};
  } else {
    verdict = {PathAccess::kNone, "base", "not in the jail's own /dev"};
  }
  return true;
}

PathVerdict judge_op(const MountPlan& plan, const PlanOp& op) {
  const PathAccess bound = op.access == Access::kReadWrite ? PathAccess::kWrite : PathAccess::kRead;
  switch (op.op) {
    case OpClass::kBase:
      return {bound, op.entry, "the base view, read-only"};
    case OpClass::kReadable:
      return {bound, op.entry, "a readable root"};
    case OpClass::kWritable:
      return {bound, op.entry, "a writable root"};
    case OpClass::kScratch:
      return {bound, op.entry,
              plan.scratch_is_tmpfs ? "the jail's own tmpfs, not the host's directory" : "the scratch"};
    case OpClass::kFrozen:
      return {bound, op.entry, "frozen: visible, never writable"};
    case OpClass::kMaskDir:
    case OpClass::kMaskFile:
      return {PathAccess::kHidden, op.entry, "protected: a mask hides it"};
    case OpClass::kPlaceholder: {
      const bool frozen = op.entry.compare(0, kFrozenList.size(), kFrozenList) == 0;
      return {frozen ? PathAccess::kRead : PathAccess::kHidden, op.entry,
              "absent: a placeholder keeps it from being made"};
    }
    case OpClass::kMount:
      return {bound, op.entry, bound == PathAccess::kWrite ? "a read-write mount" : "a read-only mount"};
    case OpClass::kPin:
    case OpClass::kSymlink:
      break;  // never decide
  }
  return {};
}

bool is_of(const IdleEntry& idle, std::string_view list) {
  return idle.entry.compare(0, list.size(), list) == 0;
}

// An entry names the path, and yet the access is what it is: absent and unguarded, say. Nobody should have to wonder.
void say_idle_entries(const MountPlan& plan, const Path& real, PathVerdict& verdict) {
  if (verdict.access == PathAccess::kHidden) return;
  for (const IdleEntry& idle : plan.idle) {
    const bool wants_less =
        is_of(idle, "protected[") || (is_of(idle, "frozen[") && verdict.access == PathAccess::kWrite);
    if (wants_less && covers(without_links(plan, idle.path), real)) {
      verdict.reason += "; " + idle.entry + " names it, but: " + idle.why;
    }
  }
}

PathVerdict judge_unbound(const MountPlan& plan, const Path& path, const Path& real) {
  for (const IdleEntry& idle : plan.idle) {
    if (!is_of(idle, "protected[")) continue;
    if (covers(idle.path, path) || covers(without_links(plan, idle.path), real)) {
      return {PathAccess::kHidden, idle.entry, "protected, and " + idle.why};
    }
  }
  const bool leads_on = real == "/" || std::any_of(plan.ops.begin(), plan.ops.end(),
                                                   [&](const PlanOp& op) { return covers(real, op.path); });
  if (leads_on) return {PathAccess::kRead, "base", "a directory of the jail's own, on the way to a root"};
  return {PathAccess::kNone, "", "not in the view: no entry names it"};
}

}  // namespace

PathVerdict judge_path(const MountPlan& plan, const Path& path) {
  const Path real = without_links(plan, path);
  PathVerdict verdict;
  const PlanOp* op = deciding_op(plan, real);
  if ((op == nullptr || op->path == "/") && judge_own_trees(real, verdict)) return verdict;
  if (op == nullptr) return judge_unbound(plan, path, real);
  verdict = judge_op(plan, *op);
  say_idle_entries(plan, real, verdict);
  return verdict;
}

}  // namespace loom
