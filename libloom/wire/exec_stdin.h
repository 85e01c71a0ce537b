// Bytes for the command's standard input.
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct ExecStdin {
  std::uint64_t target = 0;  // the exec_start's id
  std::string data;
  bool eof = false;
  friend bool operator==(const ExecStdin&, const ExecStdin&) = default;
};

[[nodiscard]] Value encode(ExecStdin const& message);
[[nodiscard]] Result<ExecStdin> decode_exec_stdin(const Value& body);
[[nodiscard]] Result<ExecStdin> decode_exec_stdin(Value&& body);  // moves the data out: no copy of a long chunk

}  // namespace loom
