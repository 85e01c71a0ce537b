#include "broker/settlement.h"

#include <utility>

#include "base/version.h"

namespace loom::broker {

namespace {

// A helper's words travel to the caller, but not without a bound.
constexpr std::size_t kMaxWords = 4096;

std::string clipped(std::string text) {
  if (text.size() <= kMaxWords) return text;
  std::size_t end = kMaxWords;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text;
}

Value texts(const std::vector<std::string>& items) {
  Array out;
  out.reserve(items.size());
  for (const std::string& item : items) out.emplace_back(item);
  return out;
}

}  // namespace

Failure helper_refused(std::string code, std::string msg) {
  return {FailureKind::kHelperRefused, {{"code", clipped(std::move(code))}, {"msg", clipped(std::move(msg))}}};
}
Failure channel_closed(std::string why) {
  return {FailureKind::kChannelClosed, {{"why", clipped(std::move(why))}}};
}
Failure enforcement_short(const std::vector<std::string>& missing, const std::vector<std::string>& skipped) {
  return {FailureKind::kEnforcementShort, {{"missing", texts(missing)}, {"skipped", texts(skipped)}}};
}
Failure cancel_escalated() {
  return {FailureKind::kCancelEscalated, {}};
}
Failure protocol_violation(std::string what) {
  return {FailureKind::kProtocolViolation, {{"what", clipped(std::move(what))}}};
}
Failure proto_mismatch(std::uint64_t helper) {
  return {FailureKind::kProtoMismatch, {{"helper", helper}, {"broker", kExecProto}}};
}
Failure execution_lost(LossCause cause) {
  return {FailureKind::kExecutionLost, {{"cause", to_text(cause)}}};
}

std::string_view to_text(StopCause cause) {
  switch (cause) {
    case StopCause::kNone:
      return "none";
    case StopCause::kWall:
      return "wall";
    case StopCause::kCpu:
      return "cpu";
    case StopCause::kDeadline:
      return "deadline";
    case StopCause::kBudget:
      return "budget";
    case StopCause::kCancel:
      return "cancel";
    case StopCause::kAbort:
      return "abort";
    case StopCause::kCallerGone:
      return "caller_gone";
    case StopCause::kClosing:
      return "closing";
  }
  return "none";
}

std::string_view to_text(FailureKind kind) {
  switch (kind) {
    case FailureKind::kHelperRefused:
      return "helper_refused";
    case FailureKind::kChannelClosed:
      return "channel_closed";
    case FailureKind::kEnforcementShort:
      return "enforcement_short";
    case FailureKind::kCancelEscalated:
      return "cancel_escalated";
    case FailureKind::kProtocolViolation:
      return "protocol_violation";
    case FailureKind::kProtoMismatch:
      return "proto_mismatch";
    case FailureKind::kExecutionLost:
      return "execution_lost";
  }
  return "execution_lost";
}

std::string_view to_text(LossCause cause) {
  switch (cause) {
    case LossCause::kHelperDown:
      return "helper_down";
    case LossCause::kRelayDown:
      return "relay_down";
    case LossCause::kBrokerClosing:
      return "broker_closing";
  }
  return "relay_down";
}

CallSettled to_message(Settlement settlement) {
  CallSettled message;
  message.stopped_by = to_text(settlement.stopped_by);
  if (auto* exit = std::get_if<ExecExit>(&settlement.outcome)) {
    message.exited = std::move(*exit);
  } else {
    auto& failure = std::get<Failure>(settlement.outcome);
    message.failed = CallFailure{std::string(to_text(failure.kind)), Value(std::move(failure.detail))};
  }
  return message;
}

}  // namespace loom::broker
