// A hook_call to a session-lived program.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct CallHook {
  std::uint64_t call = 0;
  std::string kind;  // tool, event
  std::string name;
  Value args;
  std::uint64_t deadline_ms = 0;
  friend bool operator==(const CallHook&, const CallHook&) = default;
};

[[nodiscard]] Value encode(CallHook const& message);
[[nodiscard]] Result<CallHook> decode_call_hook(const Value& body);

}  // namespace loom
