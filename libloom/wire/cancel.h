// Ends one execution by the ladder; idempotent.
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct Cancel {
  std::uint64_t target = 0;
  friend bool operator==(const Cancel&, const Cancel&) = default;
};

[[nodiscard]] Value encode(Cancel const& message);
[[nodiscard]] Result<Cancel> decode_cancel(const Value& body);

}  // namespace loom
