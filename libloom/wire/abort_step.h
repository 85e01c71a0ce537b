// Sweeps one step of an operation.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct AbortStep {
  std::string op_id;
  std::string step_id;
  friend bool operator==(const AbortStep&, const AbortStep&) = default;
};

[[nodiscard]] Value encode(AbortStep const& message);
[[nodiscard]] Result<AbortStep> decode_abort_step(const Value& body);

}  // namespace loom
