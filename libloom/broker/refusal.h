// Why a call was not started, as a value: nothing ran. Pure.
// Carries out: spec/broker.md "A call" (Refusals), spec/wire.md call_refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "policy/compose.h"
#include "wire/call_refused.h"

namespace loom::broker {

enum class RefusalReason {
  kPolicyRefused,
  kPolicyInvalid,
  kBudgetExhausted,
  kDeadlinePassed,
  kAllBusy,
  kPoolUnavailable,
  kSpawnFailed,
  kDegradedHelper,
  kOperationAborted,
  kCancelled,
  kEgressUnavailable,
  kShuttingDown,
  kBadRequest,
  kNotAuthorised,
};
inline constexpr int kRefusalReasonCount = static_cast<int>(RefusalReason::kNotAuthorised) + 1;

struct Refusal {
  RefusalReason reason = RefusalReason::kBadRequest;
  Map detail;
  std::vector<Value> wanted;  // the grants that would have satisfied it
};

[[nodiscard]] Refusal policy_refused(const std::vector<Narrowing>& narrowings);
[[nodiscard]] Refusal policy_invalid(const Error& error);
[[nodiscard]] Refusal budget_exhausted(std::uint64_t outstanding, std::uint64_t max);
[[nodiscard]] Refusal all_busy(std::uint64_t size, std::uint64_t waited_ms);
[[nodiscard]] Refusal spawn_failed(Map detail);  // with the key `detail`
[[nodiscard]] Refusal degraded_helper(const std::vector<std::string>& missing);
[[nodiscard]] Refusal egress_unavailable(std::string detail);
[[nodiscard]] Refusal bad_request(std::string detail);
// deadline_passed, pool_unavailable, operation_aborted, cancelled, shutting_down, not_authorised.
[[nodiscard]] Refusal refusal(RefusalReason reason);

[[nodiscard]] std::string_view to_text(RefusalReason reason);
[[nodiscard]] CallRefused to_message(Refusal refusal);

}  // namespace loom::broker
