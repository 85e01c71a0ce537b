// Sweeps a whole operation.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct AbortOp {
  std::string op_id;
  friend bool operator==(const AbortOp&, const AbortOp&) = default;
};

[[nodiscard]] Value encode(AbortOp const& message);
[[nodiscard]] Result<AbortOp> decode_abort_op(const Value& body);

}  // namespace loom
