// Base64 as it must be written: the standard alphabet, padded, nothing else between. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace loom::egress {

[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace loom::egress
