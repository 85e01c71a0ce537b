// Header names and values (spec/egress.md "Headers"): names are tokens; values TAB, 0x20..0x7e, 0x80..0xff; what
// belongs to the client is not the caller's. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/failure.h"

namespace loom::egress {

struct HeaderField {
  std::string name;   // as the caller wrote it
  std::string value;  // bytes of latin-1
  friend bool operator==(const HeaderField&, const HeaderField&) = default;
};

[[nodiscard]] bool is_token(std::string_view text);
[[nodiscard]] std::string lower_ascii(std::string_view text);
// A value as it may stand on the wire.
[[nodiscard]] std::optional<HeaderFault> judge_header_value(std::string_view bytes);
// The text of a JSON string (UTF-8) as bytes of latin-1. Nothing when it has a character over U+00FF.
[[nodiscard]] std::optional<std::string> to_latin1(std::string_view utf8);
// Host, Content-Length, Transfer-Encoding, Connection, Proxy-*, TE, Upgrade, Expect, Cookie, Authorization, whatever
// the case.
[[nodiscard]] bool is_reserved_header(std::string_view name);
// Those of them that frame or route a message: not even a bound secret may ride in one.
[[nodiscard]] bool is_framing_header(std::string_view name);

}  // namespace loom::egress
