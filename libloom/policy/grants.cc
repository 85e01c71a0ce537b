#include <algorithm>

#include "policy/compose.h"
#include "policy/fields.h"
#include "policy/validate.h"

namespace loom {

namespace {

constexpr std::string_view kForms =
    "want writable_root=PATH, readable_root=PATH, env=NAME, limit.FIELD=N, network=full, network=proxy:ENTRY,ENTRY or "
    "scratch=PATH";

Map with_field(Map map, const std::string& field) {
  if (!field.empty()) map.insert(map.begin() + 1, Member{"field", field});
  return map;
}

Result<Value> granted_path(const Value& value) {
  LOOM_TRY(Path path, fields::path(value, "/value"));
  LOOM_CHECK(validate_path(path, "/value"));
  return text_or_bytes(std::move(path));
}

Result<Value> granted_network(const Value& value) {
  if (value == Value("full")) return value;
  const auto* text = value.get_if<std::string>();
  if (text != nullptr) {
    return fail("unknown_network_mode", "/value", "want full or proxy:HOST,HOST, got \"" + text->substr(0, 64) + "\"");
  }
  LOOM_CHECK(fields::exact_map(value, "/value", {"mode", "allow"}));
  if (*value.find("mode") != Value("proxy"))
    return fail("unknown_network_mode", "/value/mode",
                "a network grant is \"full\" or a map of mode \"proxy\" and its allow list");
  LOOM_TRY(auto allow, fields::list<std::string>(*value.find("allow"), "/value/allow", fields::network_entry));
  return Value(Map{{"mode", "proxy"}, {"allow", Array(allow.begin(), allow.end())}});
}

Result<Value> granted_limit(const Value& value, const std::string& name) {
  const bool known = std::any_of(kLimitFields.begin(), kLimitFields.end(),
                                 [&](const LimitField& field) { return field.name == name; });
  if (!known) return fail("unknown_grant", "/field", "no limit has this name: " + name);
  LOOM_TRY(const std::uint64_t limit, fields::limit(value, "/value"));
  return Value(limit);
}

Result<Value> granted_value(const Grant& grant) {
  if (grant.kind == "limit") return granted_limit(grant.value, grant.field);
  if (grant.kind == "network") return granted_network(grant.value);
  if (grant.kind == "env") {
    LOOM_TRY(std::string name, fields::env_name(grant.value, "/value"));
    return Value(std::move(name));
  }
  if (grant.kind == "writable_root" || grant.kind == "readable_root" || grant.kind == "scratch")
    return granted_path(grant.value);
  return fail(
      "unknown_grant", "/kind", "nothing grants \"" + grant.kind + "\"",
      grant.kind == "mount" ? "which host paths are mounted is decided by the base policy" : std::string(kForms));
}

Value network_value(std::string_view text) {
  constexpr std::string_view kProxy = "proxy:";
  if (text.substr(0, kProxy.size()) != kProxy) return text;
  text.remove_prefix(kProxy.size());
  Array allow;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    allow.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return Map{{"mode", "proxy"}, {"allow", std::move(allow)}};
}

// Digits are a number; whatever else stands there is told apart by decode_grant, in the words of a document.
Value limit_value(std::string_view text) {
  if (text.empty() || text.size() > 19 || text.find_first_not_of("0123456789") != std::string_view::npos) return text;
  std::uint64_t number = 0;
  for (const char c : text) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  return number;
}

}  // namespace

Value encode_narrowing(const Narrowing& narrowing) {
  return with_field(Map{{"kind", narrowing.kind}, {"wanted", narrowing.wanted}, {"granted", narrowing.granted}},
                    narrowing.field);
}

Value encode_grant(const Grant& grant) {
  return with_field(Map{{"kind", grant.kind}, {"value", grant.value}}, grant.field);
}

Result<Grant> decode_grant(const Value& value) {
  const Value* named = value.find("kind");
  const Value kind = named != nullptr ? *named : Value();
  const bool limit = kind == Value("limit");
  LOOM_CHECK(limit ? fields::exact_map(value, "", {"kind", "field", "value"})
                   : fields::exact_map(value, "", {"kind", "value"}));
  Grant grant;
  LOOM_TRY(grant.kind, fields::text(kind, "/kind"));
  if (limit) {
    LOOM_TRY(grant.field, fields::text(*value.find("field"), "/field"));
  }
  grant.value = *value.find("value");
  LOOM_TRY(grant.value, granted_value(grant));
  return grant;
}

Result<Grant> parse_grant(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return fail("unknown_grant", "", "no grant: \"" + std::string(text.substr(0, 64)) + "\"", std::string(kForms));
  Grant grant{std::string(text.substr(0, equals)), "", Value()};
  const std::string_view value = text.substr(equals + 1);
  constexpr std::string_view kLimit = "limit.";
  if (grant.kind.compare(0, kLimit.size(), kLimit) == 0) {
    grant.field = grant.kind.substr(kLimit.size());
    grant.kind = "limit";
    grant.value = limit_value(value);
  } else {
    grant.value = grant.kind == "network" ? network_value(value) : text_or_bytes(std::string(value));
  }
  auto decoded = granted_value(grant);
  if (!decoded) {
    Error error = std::move(decoded).error();
    error.where = "grant " + std::string(text.substr(0, equals));
    return fail(std::move(error));
  }
  grant.value = std::move(*decoded);
  return grant;
}

std::string render_grant(const Grant& grant) {
  std::string text = grant.kind + (grant.field.empty() ? "" : "." + grant.field) + "=";
  if (const auto* count = grant.value.get_if<std::uint64_t>()) return text + std::to_string(*count);
  if (const auto* held = grant.value.get_if<std::string>()) return text + *held;
  if (const auto* bytes = grant.value.get_if<Binary>()) return text + bytes->bytes;
  text += "proxy:";
  const Value* allow = grant.value.find("allow");
  const Array* entries = allow != nullptr ? allow->get_if<Array>() : nullptr;
  std::string_view separator;
  for (const Value& entry : entries != nullptr ? *entries : Array()) {
    if (const auto* held = entry.get_if<std::string>()) text += std::string(separator) + *held;
    separator = ",";
  }
  return text;
}

}  // namespace loom
