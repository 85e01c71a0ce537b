// A new window size (only with tty).
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct ExecWinsize {
  std::uint64_t target = 0;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  friend bool operator==(const ExecWinsize&, const ExecWinsize&) = default;
};

[[nodiscard]] Value encode(ExecWinsize const& message);
[[nodiscard]] Result<ExecWinsize> decode_exec_winsize(const Value& body);

}  // namespace loom
