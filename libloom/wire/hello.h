// The first frame of both sides of the control and the capability channel.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct Hello {
  std::uint64_t proto = 0;
  std::string peer;
  std::vector<std::string> features;
  friend bool operator==(const Hello&, const Hello&) = default;
};

[[nodiscard]] Value encode(Hello const& message);
// A hello with another proto decodes with proto and, if it is there, peer alone: answer it with proto_mismatch
// (wire/proto.h).
[[nodiscard]] Result<Hello> decode_hello(const Value& body);

}  // namespace loom
