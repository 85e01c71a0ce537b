// The first frame of both sides of the exec channel.
// Carries out: spec/wire.md "Exec channel".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace loom {

inline constexpr std::uint64_t kMaxCapacity = 4;

struct ExecHello {
  std::uint64_t proto = 0;
  std::string peer;
  std::vector<std::string> features;
  std::uint64_t capacity = 0;  // helper 1..4; broker 0
  friend bool operator==(const ExecHello&, const ExecHello&) = default;
};

[[nodiscard]] Value encode(ExecHello const& message);
// A hello with another proto decodes with proto and, if it is there, peer alone: answer it with proto_mismatch
// (wire/proto.h).
[[nodiscard]] Result<ExecHello> decode_exec_hello(const Value& body);

}  // namespace loom
