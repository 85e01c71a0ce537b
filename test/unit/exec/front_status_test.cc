// The table of spec/cli.md for run and call, row by row.
#include "service/front_status.h"

#include <gtest/gtest.h>

namespace loom::service {
namespace {

CallSettled exited(std::int64_t code, const std::string& stopped_by = "none") {
  CallSettled settled;
  settled.exited = ExecExit{};
  settled.exited->code = code;
  settled.stopped_by = stopped_by;
  return settled;
}

CallSettled failed(const std::string& kind, Value detail = Map{}) {
  CallSettled settled;
  settled.failed = CallFailure{kind, std::move(detail)};
  return settled;
}

CallSettled helper_refused(const std::string& code) {
  return failed("helper_refused", Map{{"code", code}, {"msg", "words"}});
}

TEST(ExitStatus, IsTheCommandsOwnWhenNobodyStoppedIt) {
  for (const int code : {0, 1, 2, 7, 125, 137, 255}) EXPECT_EQ(exit_status(exited(code)), code);
}

TEST(ExitStatus, Is124WhenAClockStoppedIt) {
  for (const char* clock : {"wall", "cpu", "deadline", "budget"}) {
    EXPECT_EQ(exit_status(exited(0, clock)), 124) << clock;
    EXPECT_EQ(exit_status(exited(143, clock)), 124) << clock;
  }
}

TEST(ExitStatus, IsItsOwnBut143InPlaceOf0WhenSomebodyStoppedIt) {
  for (const char* who : {"cancel", "abort", "closing", "caller_gone"}) {
    EXPECT_EQ(exit_status(exited(0, who)), 143) << who;
    EXPECT_EQ(exit_status(exited(3, who)), 3) << who;
    EXPECT_EQ(exit_status(exited(143, who)), 143) << who;
  }
}

TEST(ExitStatus, Is125WhenNothingRan) {
  EXPECT_EQ(exit_status(CallRefused{"policy_refused", Map{}, {}}), 125);
  EXPECT_EQ(exit_status(failed("proto_mismatch")), 125);
  for (const char* code : {"busy", "bad_policy", "missing_path", "plan_refused", "bad_cwd", "layer_refused",
                           "spawn_failed", "a_code_of_tomorrow"}) {
    EXPECT_EQ(exit_status(helper_refused(code)), 125) << code;
  }
}

TEST(ExitStatus, Is126And127ForACommandThatCannotBeExecuted) {
  for (const char* code : {"exec_permission", "exec_format", "exec_too_big"}) {
    EXPECT_EQ(exit_status(helper_refused(code)), 126) << code;
  }
  for (const char* code : {"exec_not_found", "exec_interpreter"})
    EXPECT_EQ(exit_status(helper_refused(code)), 127) << code;
}

TEST(ExitStatus, Is123WhenItMayHaveRun) {
  for (const char* kind :
       {"channel_closed", "enforcement_short", "cancel_escalated", "protocol_violation", "execution_lost"}) {
    EXPECT_EQ(exit_status(failed(kind)), 123) << kind;
  }
  EXPECT_EQ(exit_status(helper_refused("jail_lost")), 123);
}

TEST(ExitStatus, WithoutAReportIs123OfWhatRanAndItsOwnOfWhatDidNot) {
  for (const int code : {0, 1, 125, 127}) EXPECT_EQ(exit_status_unreported(exited(code)), 123) << code;
  EXPECT_EQ(exit_status_unreported(failed("execution_lost")), 123);
  EXPECT_EQ(exit_status_unreported(CallRefused{"policy_refused", Map{}, {}}), 125);
  EXPECT_EQ(exit_status_unreported(helper_refused("layer_refused")), 125);
  EXPECT_EQ(exit_status_unreported(helper_refused("exec_not_found")), 127);
}

}  // namespace
}  // namespace loom::service
