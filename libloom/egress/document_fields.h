// Reading the documents of loom-egress: policy/fields.h, and what it does not have. Internal to the decoders here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "policy/fields.h"

namespace loom::egress::fields {

using loom::fields::exact_map;
using loom::fields::list;
using loom::fields::text;
using loom::fields::wrong_type;

// A map with all of `required`, any of `optional` and nothing else: unknown_key, missing_key.
[[nodiscard]] Result<const Map*> map_of(const Value& value, const std::string& where,
                                        std::initializer_list<std::string_view> required,
                                        std::initializer_list<std::string_view> optional);
// out_of_range outside low..high.
[[nodiscard]] Result<std::uint64_t> number(const Value& value, const std::string& where, std::uint64_t low,
                                           std::uint64_t high);
// The name of a credential or a caller: 1 to 64 of letters, digits, '.', '_' and '-', the first a letter or digit
// (bad_name).
[[nodiscard]] Result<std::string> name(const Value& value, const std::string& where);
[[nodiscard]] bool is_name(std::string_view text);

}  // namespace loom::egress::fields
