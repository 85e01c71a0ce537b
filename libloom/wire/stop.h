// Closes the broker.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct Stop {
  std::optional<std::uint64_t> drain_ms;
  friend bool operator==(const Stop&, const Stop&) = default;
};

[[nodiscard]] Value encode(Stop const& message);
[[nodiscard]] Result<Stop> decode_stop(const Value& body);

}  // namespace loom
