#include "plan/explain.h"

namespace loom {
namespace {

std::string note_of(const MountPlan& plan, const PlanOp& op) {
  switch (op.op) {
    case OpClass::kSymlink:
      return "to " + op.target;
    case OpClass::kScratch:
      return plan.scratch_is_tmpfs ? "a fresh tmpfs of " + std::to_string(plan.scratch_bytes) + " bytes" : "";
    case OpClass::kPin:
      return op.kind == NodeKind::kSymlink ? "the link cannot be replaced" : "cannot be renamed away";
    case OpClass::kMaskDir:
      return "an empty directory stands there";
    case OpClass::kMaskFile:
      return "an unreadable file stands there";
    case OpClass::kPlaceholder:
      return op.kind == NodeKind::kDirectory ? "absent: an empty directory keeps it from being made"
                                             : "absent: a file without effect keeps it from being made";
    case OpClass::kBase:
    case OpClass::kReadable:
    case OpClass::kWritable:
    case OpClass::kFrozen:
      return "";
    case OpClass::kMount:
      return op.entry == kProxyEntry ? "the proxy's socket, for the bridge" : "";
  }
  return "";
}

}  // namespace

std::string_view to_text(OpClass op) {
  switch (op) {
    case OpClass::kBase:
      return "base";
    case OpClass::kReadable:
      return "readable";
    case OpClass::kWritable:
      return "writable";
    case OpClass::kScratch:
      return "scratch";
    case OpClass::kSymlink:
      return "link";
    case OpClass::kPin:
      return "pin";
    case OpClass::kFrozen:
      return "frozen";
    case OpClass::kMaskDir:
    case OpClass::kMaskFile:
      return "mask";
    case OpClass::kPlaceholder:
      return "placeholder";
    case OpClass::kMount:
      return "mount";
  }
  return "";
}

std::string_view to_text(PathAccess access) {
  switch (access) {
    case PathAccess::kNone:
      return "none";
    case PathAccess::kHidden:
      return "hidden";
    case PathAccess::kRead:
      return "read";
    case PathAccess::kWrite:
      return "write";
  }
  return "";
}

std::vector<ExplainRow> explain_plan(const MountPlan& plan) {
  std::vector<ExplainRow> rows;
  for (const PlanOp& op : plan.ops) {
    const bool bound = op.op != OpClass::kSymlink && op.op != OpClass::kMaskDir && op.op != OpClass::kMaskFile &&
                       op.op != OpClass::kPlaceholder;
    const char* access = op.access == Access::kReadWrite ? "rw" : "ro";
    rows.push_back(
        {std::string(to_text(op.op)), bound ? access : "", op.path, op.entry, op.entry_path, note_of(plan, op)});
  }
  for (const IdleEntry& idle : plan.idle) rows.push_back({"nothing", "", idle.path, idle.entry, idle.path, idle.why});
  return rows;
}

}  // namespace loom
