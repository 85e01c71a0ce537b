// Time as a value. Pure cores take it as an argument; only shells read a clock (os/clock.h).
#pragma once

#include <chrono>
#include <cstdint>

namespace loom {

// Monotonic time since an arbitrary origin. Durations in the wire and in policies are integers with the unit in the
// name.
using Duration = std::chrono::nanoseconds;
struct MonotonicClockTag {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicClockTag, Duration>;
  static constexpr bool is_steady = true;
};
using TimePoint = MonotonicClockTag::time_point;

constexpr Duration milliseconds(std::int64_t n) {
  return std::chrono::milliseconds(n);
}
constexpr Duration seconds(std::int64_t n) {
  return std::chrono::seconds(n);
}
constexpr std::int64_t to_ms(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

}  // namespace loom
