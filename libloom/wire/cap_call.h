// A call from inside a jail.
// Carries out: spec/wire.md "Capability channel".
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct CapCall {
  std::string token;
  std::string cap;
  Value args;
  std::uint64_t deadline_ms = 0;
  friend bool operator==(const CapCall&, const CapCall&) = default;
};

[[nodiscard]] Value encode(CapCall const& message);
[[nodiscard]] Result<CapCall> decode_cap_call(const Value& body);

}  // namespace loom
