// The plan as the report names it: its digest, its counts, its tag.
#include "base/hash.h"
#include "plan/explain.h"
#include "plan/mount_plan.h"

namespace loom {
namespace {

constexpr std::size_t kDigestDigits = 16;

// NUL cannot stand in a path, so fields cannot run into one another.
void field(std::string& text, std::string_view value) {
  text.append(value).push_back('\0');
}

}  // namespace

std::string plan_digest(const MountPlan& plan) {
  std::string text;
  for (const PlanOp& op : plan.ops) {
    if (is_own_socket(op.entry)) continue;
    field(text, to_text(op.op));
    field(text, op.access == Access::kReadWrite ? "rw" : "ro");
    field(text, op.path);
    field(text, op.target);
  }
  field(text, plan.scratch);
  field(text, std::to_string(plan.scratch_bytes));
  return sha256_hex(text).substr(0, kDigestDigits);
}

MountCounts planned_counts(const MountPlan& plan) {
  MountCounts counts;
  for (const PlanOp& op : plan.ops) {
    switch (op.op) {
      case OpClass::kBase:
      case OpClass::kSymlink:
        break;
      case OpClass::kReadable:
        ++counts.ro;
        break;
      case OpClass::kWritable:
        ++counts.rw;
        break;
      case OpClass::kScratch:
        counts.rw += plan.scratch_is_tmpfs ? 0 : 1;
        break;
      case OpClass::kPin:
        ++counts.pin;
        break;
      case OpClass::kFrozen:
        ++counts.frozen;
        break;
      case OpClass::kMaskDir:
      case OpClass::kMaskFile:
      case OpClass::kPlaceholder:
        ++counts.mask;
        break;
      case OpClass::kMount:
        if (is_own_socket(op.entry)) break;  // counted by its own layer
        ++(op.access == Access::kReadOnly ? counts.bind_ro : counts.bind_rw);
        break;
    }
  }
  return counts;
}

std::string mounts_tag(const MountPlan& plan, const MountCounts& seen) {
  std::string tag = "mounts:";
  const auto count = [&tag](std::string_view name, unsigned n) { tag.append(name).append(std::to_string(n)); };
  count("ro=", seen.ro);
  count(",rw=", seen.rw);
  count(",frozen=", seen.frozen);
  count(",mask=", seen.mask);
  count(",pin=", seen.pin);
  count(",bind_ro=", seen.bind_ro);
  count(",bind_rw=", seen.bind_rw);
  tag += plan.scratch_is_tmpfs ? ",scratch=tmpfs" : ",scratch=host";
  tag += plan.host_view ? ",base=host-view" : ",base=minimal";
  return tag + ",plan=" + plan_digest(plan);
}

}  // namespace loom
