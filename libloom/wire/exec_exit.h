// How the command ended and what was really enforced.
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct ExecExit {
  std::int64_t code = 0;  // the command's own, 128+signal when signalled
  std::int64_t signal = 0;
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  std::vector<std::string> enforcement;
  bool degraded = false;
  std::uint64_t wall_ms = 0;
  bool timed_out = false;
  bool cancelled = false;
  friend bool operator==(const ExecExit&, const ExecExit&) = default;
};

[[nodiscard]] Value encode(ExecExit const& message);
[[nodiscard]] Result<ExecExit> decode_exec_exit(const Value& body);

}  // namespace loom
