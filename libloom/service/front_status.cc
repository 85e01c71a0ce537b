#include "service/front_status.h"

#include <string>
#include <string_view>

#include "base/exit_status.h"

namespace loom::service {
namespace {

// The helper's own word for why nothing ran (spec/wire.md, error codes of the exec channel).
int status_of_helper_code(std::string_view code) {
  if (code == "exec_not_found" || code == "exec_interpreter") return to_int(ExitStatus::kNotFound);
  if (code == "exec_permission" || code == "exec_format" || code == "exec_too_big") {
    return to_int(ExitStatus::kNoPermission);
  }
  if (code == "jail_lost") return to_int(ExitStatus::kMayHaveRun);
  return to_int(ExitStatus::kNotRun);
}

int status_of_failure(const CallFailure& failure) {
  if (failure.kind == "helper_refused") {
    const Value* code = failure.detail.find("code");
    const auto* text = code != nullptr ? code->get_if<std::string>() : nullptr;
    return status_of_helper_code(text != nullptr ? *text : std::string());
  }
  if (failure.kind == "proto_mismatch") return to_int(ExitStatus::kNotRun);
  return to_int(ExitStatus::kMayHaveRun);
}

bool is_clock(std::string_view stopped_by) {
  return stopped_by == "wall" || stopped_by == "cpu" || stopped_by == "deadline" || stopped_by == "budget";
}

}  // namespace

int exit_status(const CallSettled& settled) {
  if (settled.failed) return status_of_failure(*settled.failed);
  if (!settled.exited) return to_int(ExitStatus::kMayHaveRun);
  if (is_clock(settled.stopped_by)) return to_int(ExitStatus::kTimedOut);
  const int own = static_cast<int>(settled.exited->code);
  if (settled.stopped_by != "none" && own == 0) return to_int(ExitStatus::kCancelled);
  return own;
}

int exit_status(const CallRefused& /*refused*/) {
  return to_int(ExitStatus::kNotRun);
}

int exit_status_unreported(const CallSettled& settled) {
  return settled.failed ? status_of_failure(*settled.failed) : to_int(ExitStatus::kMayHaveRun);
}

int exit_status_unreported(const CallRefused& /*refused*/) {
  return to_int(ExitStatus::kNotRun);
}

}  // namespace loom::service
