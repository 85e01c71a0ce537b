// The answer to a request: its own fields, whatever they are.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct Ok {
  Value fields;  // a map
  friend bool operator==(const Ok&, const Ok&) = default;
};

[[nodiscard]] Value encode(Ok const& message);
[[nodiscard]] Result<Ok> decode_ok(const Value& body);

}  // namespace loom
