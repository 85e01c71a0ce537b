// A cleared call has been dispatched.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct ExecutionId {
  std::uint64_t incarnation = 0;
  std::uint64_t seq = 0;
  friend bool operator==(const ExecutionId&, const ExecutionId&) = default;
};

struct CallStarted {
  ExecutionId execution;
  Value policy;                   // the composed one
  std::vector<Value> narrowings;  // maps
  friend bool operator==(const CallStarted&, const CallStarted&) = default;
};

[[nodiscard]] Value encode(CallStarted const& message);
[[nodiscard]] Result<CallStarted> decode_call_started(const Value& body);

}  // namespace loom
