// Between a Policy and its two encodings (spec/policy.md "Decoding", "Validation").
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "policy/model.h"

namespace loom {

// JSON or msgpack, told apart by the first byte (msgpack maps begin 0x80..0x8f, 0xde, 0xdf). Version 3 only. Decodes
// strictly and validates: the value that comes out is one the helper and the broker would accept. Error codes are those
// of policy.md, `where` the key path ("/limits/pids").
[[nodiscard]] Result<Policy> decode_policy_bytes(std::string_view bytes);
// From a value that already arrived in a frame. Decodes and validates.
[[nodiscard]] Result<Policy> decode_policy(const Value& value);
// Validation alone, for composed policies (readable_inside_writable is for documents only and not asked here).
[[nodiscard]] Status validate_composed(const Policy& policy);

[[nodiscard]] Value encode_policy(const Policy& policy);  // paths as text or bytes, keys in the document's order
[[nodiscard]] Result<std::string> render_policy_json(const Policy& policy);  // error not_utf8
[[nodiscard]] std::string render_policy_msgpack(const Policy& policy);       // canonical, map keys sorted
// SHA-256 hex of the canonical msgpack with path lists and env_allow sorted and deduplicated.
[[nodiscard]] std::string policy_digest(const Policy& policy);

}  // namespace loom
