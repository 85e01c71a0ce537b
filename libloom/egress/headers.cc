#include "egress/headers.h"

#include <algorithm>
#include <array>

namespace loom::egress {

namespace {

bool is_token_char(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_proxy_header(std::string_view lower) {
  return lower.substr(0, 6) == "proxy-";
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::optional<HeaderFault> judge_header_value(std::string_view bytes) {
  const bool fine = std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
  return fine ? std::nullopt : std::optional(HeaderFault::kControl);
}

std::optional<std::string> to_latin1(std::string_view utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x80) {
      bytes += utf8[i];
      continue;
    }
    // U+0080..U+00FF are the two bytes C2 or C3 and one of 80..BF.
    const auto next = i + 1 < utf8.size() ? static_cast<unsigned char>(utf8[i + 1]) : 0U;
    if ((byte != 0xc2 && byte != 0xc3) || next < 0x80 || next > 0xbf) return std::nullopt;
    bytes += static_cast<char>((byte & 0x03U) << 6U | (next & 0x3fU));
    ++i;
  }
  return bytes;
}

bool is_framing_header(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "expect"};
  const std::string lower = lower_ascii(name);
  return is_one_of(kNames, lower) || is_proxy_header(lower);
}

bool is_reserved_header(std::string_view name) {
  static constexpr std::array<std::string_view, 2> kNames = {"cookie", "authorization"};
  return is_framing_header(name) || is_one_of(kNames, lower_ascii(name));
}

}  // namespace loom::egress
