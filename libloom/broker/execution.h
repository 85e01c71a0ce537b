// The core of one execution's relay: which output goes on, when a cancel is sent, and the one settlement. Pure.
// At most one settlement is a property of this function: once settled, every event gives nothing.
// Carries out: spec/broker.md "The execution core".
//
//   event             streaming                                    draining
//   output            deliver (nothing once the caller is gone)    the same
//   exited            settle exited, or enforcement_short          the same; stopped_by as judge_stop says
//   failed            settle failed                                settle failed, stopped_by the stop's cause
//   cancel_requested  send_cancel, enter_draining                  nothing: the first stop's cause stands
//   caller_down       send_cancel, enter_draining; deliver no more nothing; deliver no more
//   helper_down       settle execution_lost (helper or relay)      the same, stopped_by the stop's cause
//   deadline          send_cancel, enter_draining                  nothing
//   grace_expired     nothing: no grace runs                       settle execution_lost{relay_down}
//   credit            send_credit when it grows and a caller is    the same
//                     there
//   after settle      nothing, whatever the event
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "broker/settlement.h"
#include "plan/report.h"
#include "policy/model.h"
#include "wire/exec_exit.h"
#include "wire/exec_out.h"
#include "wire/stream.h"

namespace loom::broker {

// Counted from when the cancel was sent; longer than the helper core's own ladder, so only a backstop.
inline constexpr Duration kDrainGrace = seconds(5);

enum class Mode { kStreaming, kDraining };

// What the end is held against. Of the policy only what required_layers asks about: limits and the network's mode.
struct Expectation {
  Policy needs;
  Report features;
  Demand demand = Demand::kPlatform;
};
[[nodiscard]] Expectation expectation_of(const Policy& policy, const Report& features, Demand demand);

struct ExecutionCore {
  Expectation expected;
  Mode mode = Mode::kStreaming;
  StopCause stop = StopCause::kNone;  // why the cancel was sent
  bool caller_gone = false;
  bool settled = false;
  std::uint64_t granted_stdout = kInitialCredit;
  std::uint64_t granted_stderr = kInitialCredit;
};

namespace execution_event {
struct Output {
  ExecOut out;
};
struct Exited {
  ExecExit exit;
};
struct Failed {
  Failure failure;
};
struct CancelRequested {
  StopCause by = StopCause::kCancel;  // kCancel, kAbort, kClosing
};
struct CallerDown {};
struct HelperDown {
  bool witnessed = true;
};
struct DeadlineReached {
  StopCause which = StopCause::kDeadline;  // kDeadline, kBudget
};
struct GraceExpired {};
struct Credit {
  Stream stream = Stream::kStdout;
  std::uint64_t upto = 0;
};
}  // namespace execution_event

using ExecutionEvent =
    std::variant<execution_event::Output, execution_event::Exited, execution_event::Failed,
                 execution_event::CancelRequested, execution_event::CallerDown, execution_event::HelperDown,
                 execution_event::DeadlineReached, execution_event::GraceExpired, execution_event::Credit>;

namespace execution_effect {
struct Deliver {
  ExecOut out;
};
struct SendCancel {};
struct SendCredit {
  Stream stream = Stream::kStdout;
  std::uint64_t upto = 0;
};
struct EnterDraining {};  // start the grace, now
struct Settle {
  Settlement settlement;
};
}  // namespace execution_effect

using ExecutionEffect =
    std::variant<execution_effect::Deliver, execution_effect::SendCancel, execution_effect::SendCredit,
                 execution_effect::EnterDraining, execution_effect::Settle>;

[[nodiscard]] std::vector<ExecutionEffect> step(ExecutionCore& core, ExecutionEvent event);

// Who stopped an execution that ended so: the helper's clock, the processor limit, our cancel where the helper says
// that it cut the run short, else nobody.
[[nodiscard]] StopCause judge_stop(const ExecutionCore& core, const ExecExit& exit);

}  // namespace loom::broker
