// How far the peer may send on one stream, in cumulative bytes.
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/value.h"
#include "wire/stream.h"

namespace loom {

struct ExecCredit {
  std::uint64_t target = 0;
  Stream stream = Stream::kStdin;
  std::uint64_t upto = 0;
  friend bool operator==(const ExecCredit&, const ExecCredit&) = default;
};

[[nodiscard]] Value encode(ExecCredit const& message);
[[nodiscard]] Result<ExecCredit> decode_exec_credit(const Value& body);

}  // namespace loom
