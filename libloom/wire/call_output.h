// A chunk of a call's output.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "wire/stream.h"

namespace loom {

struct CallOutput {
  Stream stream = Stream::kStdout;
  std::string data;
  std::uint64_t bytes = 0;
  bool truncated = false;
  friend bool operator==(const CallOutput&, const CallOutput&) = default;
};

[[nodiscard]] Value encode(CallOutput const& message);
[[nodiscard]] Result<CallOutput> decode_call_output(const Value& body);
[[nodiscard]] Result<CallOutput> decode_call_output(Value&& body);  // moves the data out: no copy of a long chunk

}  // namespace loom
