#include "base/value.h"

namespace loom {

const Value* Value::find(std::string_view key) const {
  const auto* map = get_if<Map>();
  if (map == nullptr) return nullptr;
  for (const auto& member : *map) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

std::string_view Value::type_name() const {
  struct Name {
    std::string_view operator()(std::monostate) const { return "nil"; }
    std::string_view operator()(bool) const { return "boolean"; }
    std::string_view operator()(std::uint64_t) const { return "integer"; }
    std::string_view operator()(std::int64_t) const { return "integer"; }
    std::string_view operator()(double) const { return "number"; }
    std::string_view operator()(const std::string&) const { return "text"; }
    std::string_view operator()(const Binary&) const { return "bytes"; }
    std::string_view operator()(const Array&) const { return "array"; }
    std::string_view operator()(const Map&) const { return "map"; }
  };
  return std::visit(Name{}, data_);
}

bool is_utf8(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    std::size_t more = 0;
    std::uint32_t code = 0;
    std::uint32_t least = 0;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    if ((lead & 0xe0U) == 0xc0U) {
      more = 1, code = lead & 0x1fU, least = 0x80;
    } else if ((lead & 0xf0U) == 0xe0U) {
      more = 2, code = lead & 0x0fU, least = 0x800;
    } else if ((lead & 0xf8U) == 0xf0U) {
      more = 3, code = lead & 0x07U, least = 0x10000;
    } else {
      return false;
    }
    if (bytes.size() - i <= more) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(bytes[i + k]);
      if ((next & 0xc0U) != 0x80U) return false;
      code = (code << 6U) | (next & 0x3fU);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
    i += more + 1;
  }
  return true;
}

Value text_or_bytes(std::string bytes) {
  if (is_utf8(bytes)) return Value(std::move(bytes));
  return Value(Binary{std::move(bytes)});
}

}  // namespace loom
