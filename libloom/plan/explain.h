// The plan as rows for people and scripts: what is done, where, and which entry of the policy asked for it. It is the
// executor's own plan, not a description of one (spec/policy.md "loom-policy explain").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/mount_plan.h"

namespace loom {

// "base", "readable", "writable", "scratch", "link", "pin", "frozen", "mask",
// "placeholder", "mount": one word, stable.
[[nodiscard]] std::string_view to_text(OpClass op);
[[nodiscard]] std::string_view to_text(PathAccess access);  // "none", "hidden", "read", "write"

struct ExplainRow {
  std::string what;    // a word of to_text; "nothing" for an entry that needs no operation
  std::string access;  // "ro", "rw"; "" where it does not apply
  Path where;          // in the jail
  std::string entry;   // "writable_roots[0]", "base"
  Path entry_path;     // as written in the policy; differs from where when a link was followed or an ancestor is pinned
  std::string note;    // "", or why / to what in a fragment
};

// The operations in order, then the entries that need none.
[[nodiscard]] std::vector<ExplainRow> explain_plan(const MountPlan& plan);

}  // namespace loom
