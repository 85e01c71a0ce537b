// Any bytes as a policy in msgpack: a policy whose canonical bytes are stable, or an error with a name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/msgpack.h"
#include "policy/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = loom::parse_msgpack(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!value) return value.error().code.empty() ? (std::abort(), 0) : 0;
  const auto policy = loom::decode_policy(*value);
  if (!policy) return policy.error().code.empty() ? (std::abort(), 0) : 0;
  const std::string canonical = loom::render_policy_msgpack(*policy);
  const auto again = loom::decode_policy_bytes(canonical);
  if (!again || loom::render_policy_msgpack(*again) != canonical) std::abort();
  return 0;
}
