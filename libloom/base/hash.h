// SHA-256, random bytes, constant-time comparison, wiping, hex and base64: the libsodium adapter (hash.cc).
// Ownership: everything is returned by value; wipe() leaves its argument empty. Nothing here fails.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loom {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);
[[nodiscard]] std::string random_bytes(std::size_t count);
[[nodiscard]] bool equal_constant_time(std::string_view a, std::string_view b);
void wipe(std::string& secret);

[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string encode_base64(std::string_view bytes);  // the standard alphabet, padded

}  // namespace loom
