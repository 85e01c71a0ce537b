// Two builds that do not speak the same protocol (spec/wire.md "Faults": hello with another `proto`).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace loom {

struct Speaker {
  std::string_view peer;  // "loom-exec/0.1.0", as its hello says it; untrusted and cut
  std::uint64_t proto = 0;
};

// Code proto_mismatch; names both numbers and which build is behind.
[[nodiscard]] Error proto_mismatch(const Speaker& ours, const Speaker& theirs);

}  // namespace loom
