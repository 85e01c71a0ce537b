#include "broker/closing.h"

#include "broker/instant.h"

namespace loom::broker {

namespace {

using Effects = std::vector<ClosingEffect>;

void retire(Closing& core, TimePoint now) {
  core.phase = ClosePhase::kRetiring;
  core.due = now + kHelpersBudget;
}

Effects conclude(Closing& core, std::uint64_t unconfirmed) {
  core.phase = ClosePhase::kClosed;
  core.due.reset();
  core.verdict = Closed{unconfirmed == 0, unconfirmed};
  return {ClosingEffect::kGiveVerdict};
}

struct Stepper {
  Closing& core;
  TimePoint now;

  Effects operator()(const closing_event::Close& event) const {
    switch (core.phase) {
      case ClosePhase::kServing:
        core.phase = ClosePhase::kDraining;
        core.due = after_ms(now, event.drain_ms);
        return {ClosingEffect::kCancelAll};
      case ClosePhase::kDraining:
      case ClosePhase::kRetiring:
        return {};
      case ClosePhase::kClosed:
        return {ClosingEffect::kGiveVerdict};
    }
    return {};
  }
  Effects operator()(const closing_event::CallsGone&) const {
    switch (core.phase) {
      case ClosePhase::kDraining:
        retire(core, now);
        return {ClosingEffect::kRetireHelpers};
      case ClosePhase::kServing:
      case ClosePhase::kRetiring:
      case ClosePhase::kClosed:
        return {};
    }
    return {};
  }
  Effects operator()(const closing_event::HelpersGone&) const {
    switch (core.phase) {
      case ClosePhase::kRetiring:
        return conclude(core, 0);
      case ClosePhase::kServing:
      case ClosePhase::kDraining:
      case ClosePhase::kClosed:
        return {};
    }
    return {};
  }
  Effects operator()(const closing_event::Due& event) const {
    if (!core.due || *core.due > now) return {};
    switch (core.phase) {
      case ClosePhase::kDraining:
        retire(core, now);
        return {ClosingEffect::kLoseRest, ClosingEffect::kRetireHelpers};
      case ClosePhase::kRetiring:
        return conclude(core, event.unconfirmed);
      case ClosePhase::kServing:
      case ClosePhase::kClosed:
        return {};
    }
    return {};
  }
};

}  // namespace

std::vector<ClosingEffect> step(Closing& core, const ClosingEvent& event, TimePoint now) {
  return std::visit(Stepper{core, now}, event);
}

std::string_view to_text(ClosePhase phase) {
  switch (phase) {
    case ClosePhase::kServing:
      return "serving";
    case ClosePhase::kDraining:
      return "draining";
    case ClosePhase::kRetiring:
      return "retiring";
    case ClosePhase::kClosed:
      return "closed";
  }
  return "closed";
}

}  // namespace loom::broker
