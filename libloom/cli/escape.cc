#include <cstdint>

#include "cli/output.h"

namespace loom::cli {
namespace {

// The length of the well-formed UTF-8 character at the start of `text` and its number; 0 when there is none.
struct Character {
  std::size_t length = 0;
  std::uint32_t number = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  std::uint32_t number = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    number = (number << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && number < 0x800) || (length == 4 && number < 0x10000);
  const bool surrogate = number >= 0xD800 && number <= 0xDFFF;
  if (overlong || surrogate || number > 0x10FFFF) return {};
  return {length, number};
}

// Controls of both ranges, line separators, and the marks that reorder a line: what would let a name draw on a
// terminal.
bool draws(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void append_hex(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xFU];
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::size_t length = c.length == 0 ? 1 : c.length;
    if (c.length == 0 || draws(c.number))
      append_hex(out, text.substr(0, length));
    else
      out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace loom::cli
