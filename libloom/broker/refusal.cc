#include "broker/refusal.h"

#include <utility>

namespace loom::broker {

Refusal policy_refused(const std::vector<Narrowing>& narrowings) {
  Refusal out{RefusalReason::kPolicyRefused, {}, {}};
  Array list;
  for (const Narrowing& narrowing : narrowings) list.push_back(encode_narrowing(narrowing));
  out.detail.emplace_back("narrowings", std::move(list));
  for (const Grant& grant : wanted_grants(narrowings)) out.wanted.push_back(encode_grant(grant));
  return out;
}

Refusal policy_invalid(const Error& error) {
  Map fault{{"code", error.code}, {"where", text_or_bytes(error.where)}, {"message", text_or_bytes(error.what)}};
  return {RefusalReason::kPolicyInvalid, {{"error", std::move(fault)}}, {}};
}

Refusal budget_exhausted(std::uint64_t outstanding, std::uint64_t max) {
  return {RefusalReason::kBudgetExhausted, {{"outstanding", outstanding}, {"max", max}}, {}};
}

Refusal all_busy(std::uint64_t size, std::uint64_t waited_ms) {
  return {RefusalReason::kAllBusy, {{"size", size}, {"waited_ms", waited_ms}}, {}};
}

Refusal spawn_failed(Map detail) {
  return {RefusalReason::kSpawnFailed, std::move(detail), {}};
}

Refusal degraded_helper(const std::vector<std::string>& missing) {
  Array list;
  for (const std::string& layer : missing) list.emplace_back(layer);
  return {RefusalReason::kDegradedHelper, {{"missing", std::move(list)}}, {}};
}

Refusal egress_unavailable(std::string detail) {
  return {RefusalReason::kEgressUnavailable, {{"detail", std::move(detail)}}, {}};
}

Refusal bad_request(std::string detail) {
  return {RefusalReason::kBadRequest, {{"detail", text_or_bytes(std::move(detail))}}, {}};
}

Refusal refusal(RefusalReason reason) {
  return {reason, {}, {}};
}

std::string_view to_text(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kPolicyRefused:
      return "policy_refused";
    case RefusalReason::kPolicyInvalid:
      return "policy_invalid";
    case RefusalReason::kBudgetExhausted:
      return "budget_exhausted";
    case RefusalReason::kDeadlinePassed:
      return "deadline_passed";
    case RefusalReason::kAllBusy:
      return "all_busy";
    case RefusalReason::kPoolUnavailable:
      return "pool_unavailable";
    case RefusalReason::kSpawnFailed:
      return "spawn_failed";
    case RefusalReason::kDegradedHelper:
      return "degraded_helper";
    case RefusalReason::kOperationAborted:
      return "operation_aborted";
    case RefusalReason::kCancelled:
      return "cancelled";
    case RefusalReason::kEgressUnavailable:
      return "egress_unavailable";
    case RefusalReason::kShuttingDown:
      return "shutting_down";
    case RefusalReason::kBadRequest:
      return "bad_request";
    case RefusalReason::kNotAuthorised:
      return "not_authorised";
  }
  return "bad_request";
}

CallRefused to_message(Refusal refusal) {
  return CallRefused{std::string(to_text(refusal.reason)), Value(std::move(refusal.detail)), std::move(refusal.wanted)};
}

}  // namespace loom::broker
