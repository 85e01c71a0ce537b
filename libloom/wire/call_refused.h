// Nothing ran, and why.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct CallRefused {
  std::string reason;
  Value detail;               // a map
  std::vector<Value> wanted;  // grants that would satisfy it
  friend bool operator==(const CallRefused&, const CallRefused&) = default;
};

[[nodiscard]] Value encode(CallRefused const& message);
[[nodiscard]] Result<CallRefused> decode_call_refused(const Value& body);

}  // namespace loom
