// Ending a broker: refuse, drain, retire, and one verdict that stays. Pure.
// Bound: drain + 5 000 ms for the helpers, however long the drain took; the 1 000 ms beyond are the shell's.
// Carries out: spec/broker.md "Closing".
//
//   event         serving                draining                retiring                  closed
//   close         cancel_all, draining   nothing: the first's    nothing                   the stored verdict again
//                                        budget stands
//   calls_gone    nothing                retire_helpers          nothing                   nothing
//   helpers_gone  nothing                nothing                 verdict: clean            nothing
//   due           nothing                lose_rest,              verdict: unconfirmed      nothing
//                                        retire_helpers
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "broker/event.h"

namespace loom::broker {

inline constexpr Duration kHelpersBudget = milliseconds(5000);

enum class ClosePhase { kServing, kDraining, kRetiring, kClosed };

struct Closing {
  ClosePhase phase = ClosePhase::kServing;
  std::optional<TimePoint> due;
  Closed verdict;
};

namespace closing_event {
struct Close {
  std::uint64_t drain_ms = 0;
};
struct CallsGone {};
struct HelpersGone {};
struct Due {
  std::uint64_t unconfirmed = 0;  // slots held now
};
}  // namespace closing_event
using ClosingEvent =
    std::variant<closing_event::Close, closing_event::CallsGone, closing_event::HelpersGone, closing_event::Due>;

enum class ClosingEffect { kCancelAll, kLoseRest, kRetireHelpers, kGiveVerdict };

[[nodiscard]] std::vector<ClosingEffect> step(Closing& core, const ClosingEvent& event, TimePoint now);

[[nodiscard]] std::string_view to_text(ClosePhase phase);

}  // namespace loom::broker
