// JSON in and out, by the nlohmann adapter in json.cc (no nlohmann header leaves it).
// Carries out: spec/policy.md "Decoding", spec/cli.md "--json".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/hash.h"  // encode_base64
#include "base/result.h"
#include "base/value.h"

namespace loom {

struct JsonLimits {
  std::size_t max_bytes = 1U << 20U;
  std::size_t max_depth = 32;  // the document is level 1
};

// Strict and total. Errors: document_too_large, not_canonical_json (a byte-order mark, a NUL, anything after the
// document, not JSON at all, with line and column), duplicate_key and nesting (key path in `where`), wrong_type (a
// number with exponent or fraction), integer_too_large and integer_too_small (outside -2^63..2^64-1; all three judged
// by the token's text). `where` is a JSON pointer ("/limits/pids").
[[nodiscard]] Result<Value> parse_json(std::string_view text, const JsonLimits& limits = {});

// One line, keys in the map's order, no spaces after separators; Binary becomes {"bytes":"base64"}. A str that is not
// valid UTF-8 is rendered like Binary, never thrown on.
[[nodiscard]] std::string render_json(const Value& value);
// Indented by two spaces, for files and people.
[[nodiscard]] std::string render_json_pretty(const Value& value);

}  // namespace loom
