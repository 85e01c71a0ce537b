// Bytes for a call's standard input.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct CallStdin {
  std::uint64_t call = 0;  // the clear_call's id on this connection
  std::string data;
  bool eof = false;
  friend bool operator==(const CallStdin&, const CallStdin&) = default;
};

[[nodiscard]] Value encode(CallStdin const& message);
[[nodiscard]] Result<CallStdin> decode_call_stdin(const Value& body);
[[nodiscard]] Result<CallStdin> decode_call_stdin(Value&& body);  // moves the data out: no copy of a long chunk

}  // namespace loom
