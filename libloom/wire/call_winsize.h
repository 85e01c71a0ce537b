// A new window size for a call with tty.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct CallWinsize {
  std::uint64_t call = 0;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  friend bool operator==(const CallWinsize&, const CallWinsize&) = default;
};

[[nodiscard]] Value encode(CallWinsize const& message);
[[nodiscard]] Result<CallWinsize> decode_call_winsize(const Value& body);

}  // namespace loom
