// Sums of times that cannot overflow: a caller may ask for any number of milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace loom::broker {

// Half of what the clock can hold, some 146 years: far enough to be never.
inline constexpr std::uint64_t kLongestMs = static_cast<std::uint64_t>(INT64_MAX / 2 / 1'000'000);

[[nodiscard]] inline TimePoint after_ms(TimePoint now, std::uint64_t ms) {
  return now + milliseconds(static_cast<std::int64_t>(std::min(ms, kLongestMs)));
}

// The earlier of two, where either may be absent.
[[nodiscard]] inline std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

}  // namespace loom::broker
