// The answer to a cap_call.
// Carries out: spec/wire.md "Capability channel".
#pragma once

#include <optional>

#include "base/result.h"
#include "base/value.h"
#include "wire/outcome.h"

namespace loom {

struct CapResult {
  CapOutcome outcome;
  std::optional<Value> usage;  // a map
  friend bool operator==(const CapResult&, const CapResult&) = default;
};

[[nodiscard]] Value encode(CapResult const& message);
[[nodiscard]] Result<CapResult> decode_cap_result(const Value& body);

}  // namespace loom
