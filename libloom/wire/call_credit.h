// As exec_credit, for a call.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/value.h"
#include "wire/stream.h"

namespace loom {

struct CallCredit {
  std::uint64_t call = 0;
  Stream stream = Stream::kStdin;
  std::uint64_t upto = 0;
  friend bool operator==(const CallCredit&, const CallCredit&) = default;
};

[[nodiscard]] Value encode(CallCredit const& message);
[[nodiscard]] Result<CallCredit> decode_call_credit(const Value& body);

}  // namespace loom
