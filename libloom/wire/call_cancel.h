// Cancels a call of this connection, or any by its sequence number.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct CallCancel {  // exactly one
  std::optional<std::uint64_t> call;
  std::optional<std::uint64_t> seq;
  friend bool operator==(const CallCancel&, const CallCancel&) = default;
};

[[nodiscard]] Value encode(CallCancel const& message);
[[nodiscard]] Result<CallCancel> decode_call_cancel(const Value& body);

}  // namespace loom
