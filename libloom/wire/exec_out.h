// A chunk of the command's output.
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "wire/stream.h"

namespace loom {

struct ExecOut {
  Stream stream = Stream::kStdout;  // never kStdin
  std::string data;
  std::uint64_t bytes = 0;  // cumulative for the stream, this chunk included
  bool truncated = false;   // true once, on the final chunk when output_bytes is reached
  friend bool operator==(const ExecOut&, const ExecOut&) = default;
};

[[nodiscard]] Value encode(ExecOut const& message);
[[nodiscard]] Result<ExecOut> decode_exec_out(const Value& body);
[[nodiscard]] Result<ExecOut> decode_exec_out(Value&& body);  // moves the data out: no copy of a long chunk

}  // namespace loom
