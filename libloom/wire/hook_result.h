// The answer to a hook_call.
// Carries out: spec/wire.md "Capability channel".
#pragma once

#include "base/result.h"
#include "base/value.h"
#include "wire/outcome.h"

namespace loom {

struct HookResult {
  CapOutcome outcome;
  friend bool operator==(const HookResult&, const HookResult&) = default;
};

[[nodiscard]] Value encode(HookResult const& message);
[[nodiscard]] Result<HookResult> decode_hook_result(const Value& body);

}  // namespace loom
