#include "base/hash.h"

#include <sodium.h>

#include <cstdlib>

namespace loom {

namespace {

// Picks libsodium's implementations and opens its random source. Without one no token could be made, so nothing may go
// on.
void ready() {
  static const bool done = sodium_init() >= 0;
  if (!done) std::abort();
}

const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  ready();
  std::string digest(crypto_hash_sha256_BYTES, '\0');
  crypto_hash_sha256(reinterpret_cast<unsigned char*>(digest.data()), as_bytes(bytes), bytes.size());
  return to_hex(digest);
}

std::string random_bytes(std::size_t count) {
  ready();
  std::string bytes(count, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || sodium_memcmp(a.data(), b.data(), a.size()) == 0);
}

void wipe(std::string& secret) {
  sodium_memzero(secret.data(), secret.size());
  secret.clear();
}

std::string to_hex(std::string_view bytes) {
  std::string hex(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), as_bytes(bytes), bytes.size());
  hex.pop_back();
  return hex;
}

std::string encode_base64(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), as_bytes(bytes), bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();
  return text;
}

}  // namespace loom
