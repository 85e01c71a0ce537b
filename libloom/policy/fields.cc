#include "policy/fields.h"

#include <algorithm>

#include "policy/entry.h"

namespace loom::fields {

namespace {

constexpr std::size_t kMaxPathBytes = 4095;
constexpr std::size_t kShownBytes = 40;  // of a value at fault: enough to recognise it, never a whole message

std::string shown(const Value& value) {
  if (const auto* text = value.get_if<std::string>())
    return '"' + (text->size() <= kShownBytes ? *text : text->substr(0, kShownBytes) + "...") + '"';
  if (const auto* count = value.get_if<std::uint64_t>()) return std::to_string(*count);
  if (const auto* number = value.get_if<std::int64_t>()) return std::to_string(*number);
  if (const auto* truth = value.get_if<bool>()) return *truth ? "true" : "false";
  return std::string(value.type_name());
}

}  // namespace

tl::unexpected<Error> wrong_type(std::string where, std::string_view want, const Value& got) {
  return fail("wrong_type", std::move(where), "wrong type: want " + std::string(want) + ", got " + shown(got));
}

Result<const Map*> exact_map(const Value& value, const std::string& where,
                             std::initializer_list<std::string_view> keys) {
  const auto* map = value.get_if<Map>();
  if (map == nullptr) return wrong_type(where, "map", value);
  for (const auto& member : *map) {
    if (std::find(keys.begin(), keys.end(), member.first) == keys.end())
      return fail("unknown_key", where + "/" + member.first,
                  "unknown key: it could be a restriction that would not be enforced");
  }
  for (const auto key : keys) {
    if (value.find(key) == nullptr)
      return fail("missing_key", where + "/" + std::string(key), "missing key: every key is required");
  }
  return map;
}

Result<std::string> text(const Value& value, const std::string& where) {
  if (const auto* held = value.get_if<std::string>()) return *held;
  return wrong_type(where, "text", value);
}

Result<bool> boolean(const Value& value, const std::string& where) {
  if (const auto* held = value.get_if<bool>()) return *held;
  return wrong_type(where, "boolean", value);
}

Result<std::uint64_t> limit(const Value& value, const std::string& where) {
  if (value.get_if<std::int64_t>() != nullptr)
    return fail("negative_limit", where, "negative limit " + shown(value), "0 means no limit of this kind");
  const auto* count = value.get_if<std::uint64_t>();
  if (count == nullptr) return wrong_type(where, "integer", value);
  if (*count > static_cast<std::uint64_t>(INT64_MAX))
    return fail("limit_too_large", where, "limit " + shown(value) + " is over 2^63-1", "0 means no limit of this kind");
  return *count;
}

Result<Path> path(const Value& value, const std::string& where) {
  const auto* text = value.get_if<std::string>();
  const auto* binary = value.get_if<Binary>();
  if (text == nullptr && binary == nullptr) return wrong_type(where, "path", value);
  const std::string& bytes = text != nullptr ? *text : binary->bytes;
  if (bytes.empty()) return fail("empty_path", where, "empty path");
  if (bytes.find('\0') != std::string::npos) return fail("nul_in_path", where, "NUL in a path");
  if (bytes.front() != '/')
    return fail("relative_path", where, "relative path " + shown(Value(bytes)), "write it from / on");
  if (bytes.size() > kMaxPathBytes)
    return fail("path_too_long", where, "a path over 4095 bytes, which no kernel opens");
  return bytes;
}

Result<std::string> env_name(const Value& value, const std::string& where) {
  LOOM_TRY(auto name, text(value, where));
  if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos)
    return fail("bad_env_name", where, "no environment name: " + shown(value),
                "a name is not empty and holds no '=' and no NUL");
  return name;
}

Result<std::string> network_entry(const Value& value, const std::string& where) {
  LOOM_TRY(auto entry, text(value, where));
  if (auto parsed = parse_entry(entry); !parsed) {
    Error error = std::move(parsed).error();
    return fail(std::move(error.code), where, "entry " + shown(value) + ": " + error.what, std::move(error.hint));
  }
  return entry;
}

}  // namespace loom::fields
