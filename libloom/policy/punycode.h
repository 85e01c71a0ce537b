// Whether the part of a label behind "xn--" is punycode of some international label (RFC 3492). Pure.
#pragma once

#include <string_view>

namespace loom {

// True when it decodes without overflow to code points that Unicode has, at least one of them beyond ASCII. Lower-case
// input.
[[nodiscard]] bool is_punycode(std::string_view encoded);

}  // namespace loom
