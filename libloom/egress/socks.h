// SOCKS5 without authentication (RFC 1928), read from whatever has arrived: a greeting, then a request (spec/egress.md
// "The proxy"). Pure; the readers look at everything received so far and want to be asked again with more, so that one
// byte at a time and all at once mean the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace loom::egress {

inline constexpr char kSocksVersion = 5;

// What the proxy answers a request with.
enum class SocksReply : std::uint8_t {
  kSucceeded = 0,
  kFailure = 1,
  kNotAllowed = 2,
  kHostUnreachable = 4,
  kRefused = 5,
  kCommandUnsupported = 7,
  kAddressTypeUnsupported = 8,
};

struct SocksGreeting {
  std::size_t bytes = 0;  // how many of those received it took
  bool without_auth = false;
};
struct SocksRequest {
  std::size_t bytes = 0;
  // What the request cannot be answered with anything else but; kSucceeded when it is a CONNECT to be judged.
  SocksReply verdict = SocksReply::kSucceeded;
  std::string host;  // as the host parser takes it: a name as sent, IPv4 in decimal, IPv6 in brackets
  std::uint16_t port = 0;
};

// Nothing while more bytes are needed. Error: bad_request, for bytes that are no SOCKS5.
[[nodiscard]] Result<std::optional<SocksGreeting>> parse_socks_greeting(std::string_view bytes);
[[nodiscard]] Result<std::optional<SocksRequest>> parse_socks_request(std::string_view bytes);

[[nodiscard]] std::string render_socks_method(bool accepted);
[[nodiscard]] std::string render_socks_reply(SocksReply reply);

}  // namespace loom::egress
