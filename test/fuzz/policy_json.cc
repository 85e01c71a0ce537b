// Any bytes as a policy in JSON, version 2 included: a policy that comes back from both encodings, or an error with a
// name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/compose.h"
#include "policy/decode.h"
#include "policy/upgrade.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto policy = loom::decode_policy_upgrading(bytes);
  if (!policy) {
    if (policy.error().code.empty()) std::abort();
    return 0;
  }
  if (loom::decode_policy_bytes(loom::render_policy_msgpack(*policy)) != *policy) std::abort();
  const auto json = loom::render_policy_json(*policy);
  if (json && loom::decode_policy_bytes(*json) != *policy) std::abort();
  const auto composed = loom::compose(*policy, *policy, {});
  if (!composed.narrowings.empty() || loom::policy_digest(composed.policy) != loom::policy_digest(*policy))
    std::abort();
  return 0;
}
