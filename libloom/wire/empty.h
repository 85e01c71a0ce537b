// The kinds whose body is exactly {}: shutdown, heartbeat, snapshot, census.
// Carries out: spec/wire.md "Exec channel", "Control channel".
#pragma once

#include "base/result.h"
#include "base/value.h"
#include "wire/kinds.h"

namespace loom {

[[nodiscard]] Value encode_empty();
[[nodiscard]] Status decode_empty(Kind kind, const Value& body);

}  // namespace loom
