// The one parser of hosts and ports (spec/egress.md "URL and host parser"): strict, before anything else sees the text.
// Policies, requests and the proxy all ask it, so that a host has one meaning. Pure; every error is host_syntax with an
// empty place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace loom {

enum class HostKind { kName, kIpv4, kIpv6 };

struct Host {
  HostKind kind = HostKind::kName;
  std::string
      text;  // canonical: a name in lower case without a trailing dot; an address in its shortest form, no brackets
  std::array<std::uint8_t, 16> address;  // network order; IPv4 uses the first four
  Host() : address{} {}
  [[nodiscard]] unsigned bits() const { return kind == HostKind::kIpv4 ? 32 : 128; }
  friend bool operator==(const Host& a, const Host& b) { return a.kind == b.kind && a.text == b.text; }
};

// A name, an IPv4 address as four decimal numbers, or an IPv6 address in brackets.
[[nodiscard]] Result<Host> parse_host(std::string_view text);
// The address alone, without brackets.
[[nodiscard]] Result<Host> parse_ipv6(std::string_view text);
[[nodiscard]] Result<Host> parse_ipv4(std::string_view text);
[[nodiscard]] std::string render_ipv4(const std::array<std::uint8_t, 16>& address);
[[nodiscard]] std::string render_ipv6(const std::array<std::uint8_t, 16>& address);

// 1..65535 in decimal, no leading zero.
[[nodiscard]] Result<std::uint16_t> parse_port(std::string_view text);

}  // namespace loom
