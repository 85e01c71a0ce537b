// The one terminal verdict of a started call, as a value. Pure.
// "May have run" is never "did not run": FailureKind says which of the two a reader may conclude.
// Carries out: spec/broker.md "A call" (Settlement), spec/wire.md call_settled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/value.h"
#include "wire/call_settled.h"
#include "wire/exec_exit.h"

namespace loom::broker {

// Who stopped the execution.
enum class StopCause { kNone, kWall, kCpu, kDeadline, kBudget, kCancel, kAbort, kCallerGone, kClosing };

enum class FailureKind {
  kHelperRefused,      // {code, msg}: nothing ran
  kChannelClosed,      // {why}: it may have run
  kEnforcementShort,   // {missing, skipped}: it ran with less than was demanded
  kCancelEscalated,    // {}: it ran, did not honour the cancel, and its helper was killed and seen dead
  kProtocolViolation,  // {what}: it may have run
  kProtoMismatch,      // {helper, broker}
  kExecutionLost,      // {cause}: it may have run
};

inline constexpr int kFailureKindCount = static_cast<int>(FailureKind::kExecutionLost) + 1;

enum class LossCause {
  kHelperDown,     // the helper's end was witnessed (or its jail's)
  kRelayDown,      // the carrier ended, the helper's end was not seen
  kBrokerClosing,  // the broker closed before it settled
};

struct Failure {
  FailureKind kind = FailureKind::kExecutionLost;
  Map detail;
  friend bool operator==(const Failure&, const Failure&) = default;
};

[[nodiscard]] Failure helper_refused(std::string code, std::string msg);
[[nodiscard]] Failure channel_closed(std::string why);
[[nodiscard]] Failure enforcement_short(const std::vector<std::string>& missing,
                                        const std::vector<std::string>& skipped);
[[nodiscard]] Failure cancel_escalated();
[[nodiscard]] Failure protocol_violation(std::string what);
[[nodiscard]] Failure proto_mismatch(std::uint64_t helper);
[[nodiscard]] Failure execution_lost(LossCause cause);

struct Settlement {
  std::variant<ExecExit, Failure> outcome;
  StopCause stopped_by = StopCause::kNone;
  friend bool operator==(const Settlement&, const Settlement&) = default;
};

[[nodiscard]] std::string_view to_text(StopCause cause);
[[nodiscard]] std::string_view to_text(FailureKind kind);
[[nodiscard]] std::string_view to_text(LossCause cause);

[[nodiscard]] CallSettled to_message(Settlement settlement);

}  // namespace loom::broker
