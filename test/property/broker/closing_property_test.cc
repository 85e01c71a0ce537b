#include <array>

#include "broker/closing.h"
#include "test/property/broker/runs.h"
#include "test/support/property.h"

namespace loom::broker {
namespace {

namespace event = closing_event;

TEST(ClosingProperty, OneVerdictWithinTheBoundThatNeverChanges) {
  std::array<int, 4> drawn{};
  loom::test::property("a close ends within its drain and the helpers' budget, with one verdict", [&drawn] {
    Closing core;
    TimePoint now{seconds(1)};
    std::optional<TimePoint> bound;
    std::optional<Closed> verdict;
    const auto take = [&](const std::vector<ClosingEffect>& effects) {
      for (const ClosingEffect each : effects) {
        if (each != ClosingEffect::kGiveVerdict) {
          RC_ASSERT(!verdict);
          continue;
        }
        if (verdict) {
          RC_ASSERT(verdict->clean == core.verdict.clean);
          RC_ASSERT(verdict->unconfirmed == core.verdict.unconfirmed);
        } else {
          RC_ASSERT(bound.has_value());
          RC_ASSERT(now <= *bound);
        }
        verdict = core.verdict;
      }
    };
    const int steps = *rc::gen::inRange(0, 30);
    for (int i = 0; i < steps; ++i) {
      // The shell comes back when something is due.
      const TimePoint later = now + milliseconds(*rc::gen::inRange(0, 2000));
      while (core.due && *core.due <= later) {
        now = *core.due;
        ++drawn[3];
        take(step(core, event::Due{*rc::gen::inRange<std::uint64_t>(0, 3)}, now));
      }
      now = later;
      const int what = *rc::gen::inRange(0, 3);
      ++drawn[static_cast<std::size_t>(what)];
      if (what == 0) {
        const std::uint64_t drain = *rc::gen::inRange<std::uint64_t>(0, 5000);
        if (!bound) bound = now + milliseconds(static_cast<std::int64_t>(drain) + 5000);
        take(step(core, event::Close{drain}, now));
      } else if (what == 1) {
        take(step(core, event::CallsGone{}, now));
      } else {
        take(step(core, event::HelpersGone{}, now));
      }
      if (bound && now > *bound) RC_ASSERT(verdict.has_value());
    }
  });
  for (const int times : drawn) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace loom::broker
