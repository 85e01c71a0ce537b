// What --why found, as entries of the report: "denied:" for what a mechanism refused and init saw, "attempt:" for file
// calls that went on while the view or the file's own mode stood against them, with the plan's verdict (spec/jail.md
// "--why"). Pure. An attempt is what init met when it looked, a moment before the kernel judged the call itself.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "helper/execution.h"
#include "helper/stage2/protocol.h"
#include "plan/mount_plan.h"
#include "plan/report.h"

namespace loom::helper {

// The text of one operation or link of the plan, as a fact (helper/builder.h) and back. Enough for judge_path, no more.
[[nodiscard]] std::string plan_op_text(const PlanOp& op);
[[nodiscard]] std::string plan_link_text(const FollowedLink& link);
void add_plan_op(MountPlan& plan, std::string_view text);
void add_plan_link(MountPlan& plan, std::string_view text);

class WhyLog {
 public:
  void add(const stage2::Denied& denied);
  void add(const stage2::Attempt& attempt);
  MountPlan& plan() { return plan_; }  // filled from the facts

  // At most 64 of each kind, then one that counts the rest.
  [[nodiscard]] loom::Report entries(const Policy& policy, bool container) const;

 private:
  struct SeenAttempt {
    std::uint32_t number = 0;
    stage2::PathUse use = stage2::PathUse::kLook;
    int error = 0;
    std::string path;
    std::string who;
  };
  static SeenAttempt attempt_of(const stage2::Attempt& attempt);
  void add_denied(loom::Report& report, const Policy& policy, bool container) const;
  void add_attempts(loom::Report& report) const;

  std::vector<stage2::Denied> denied_;
  std::vector<SeenAttempt> attempts_;
  std::uint32_t attempts_lost_ = 0;
  MountPlan plan_;
};

}  // namespace loom::helper
