#include "egress/document_fields.h"

#include <algorithm>

namespace loom::egress::fields {

Result<const Map*> map_of(const Value& value, const std::string& where,
                          std::initializer_list<std::string_view> required,
                          std::initializer_list<std::string_view> optional) {
  const auto* map = value.get_if<Map>();
  if (map == nullptr) return wrong_type(where, "map", value);
  const auto has = [](std::initializer_list<std::string_view> keys, std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const Member& member : *map) {
    if (!has(required, member.first) && !has(optional, member.first))
      return fail("unknown_key", where + "/" + member.first,
                  "unknown key: it could be a restriction that would not be enforced");
  }
  for (const auto key : required) {
    if (value.find(key) == nullptr) return fail("missing_key", where + "/" + std::string(key), "missing key");
  }
  return map;
}

Result<std::uint64_t> number(const Value& value, const std::string& where, std::uint64_t low, std::uint64_t high) {
  const auto* count = value.get_if<std::uint64_t>();
  if (count == nullptr && value.get_if<std::int64_t>() == nullptr) return wrong_type(where, "integer", value);
  if (count == nullptr || *count < low || *count > high)
    return fail("out_of_range", where, "want " + std::to_string(low) + " to " + std::to_string(high));
  return *count;
}

bool is_name(std::string_view text) {
  const auto is_alnum = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && text.size() <= 64 && is_alnum(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; });
}

Result<std::string> name(const Value& value, const std::string& where) {
  LOOM_TRY(auto name, text(value, where));
  if (!is_name(name))
    return fail("bad_name", where, "no name",
                "1 to 64 letters, digits, '.', '_' and '-', the first a letter or a digit");
  return name;
}

}  // namespace loom::egress::fields
