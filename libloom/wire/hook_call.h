// A call to a program inside a jail.
// Carries out: spec/wire.md "Capability channel".
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct HookCall {
  std::string token;
  std::string kind;  // tool, event
  std::string name;
  Value args;
  std::uint64_t deadline_ms = 0;
  friend bool operator==(const HookCall&, const HookCall&) = default;
};

[[nodiscard]] Value encode(HookCall const& message);
[[nodiscard]] Result<HookCall> decode_hook_call(const Value& body);

}  // namespace loom
