// URLs and origins, strictly (spec/egress.md "URL and host parser"): our own parser sees the text before anything else
// does, and what it cannot vouch for is refused, never repaired. The host is judged by policy/host.h alone. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "egress/failure.h"
#include "policy/host.h"

namespace loom::egress {

enum class Scheme { kHttps, kHttp };

// Where a request goes: an absent port is the scheme's own, so that https://a.test and https://a.test:443 are one.
struct Origin {
  Scheme scheme = Scheme::kHttps;
  Host host;
  std::uint16_t port = 443;
  friend bool operator==(const Origin&, const Origin&) = default;
};
// "https://a.test", "https://[::1]:8443".
[[nodiscard]] std::string render_origin(const Origin& origin);
// "a.test:443", "[::1]:8443": the port always there; what CONNECT and the lines for people show.
[[nodiscard]] std::string render_host_port(const Host& host, std::uint16_t port);

struct Url {
  Origin origin;
  std::string path = "/";  // as given, percent-escapes and all; never empty
  std::string query;       // behind '?'
  bool has_query = false;
  [[nodiscard]] std::string target() const { return has_query ? path + "?" + query : path; }
  friend bool operator==(const Url&, const Url&) = default;
};
[[nodiscard]] std::string render_url(const Url& url);
// The URL with every value of its query left out ("?key=&other="), at most 512 bytes: for records.
[[nodiscard]] std::string render_without_values(const Url& url);

enum class Schemes { kHttpsOnly, kHttpsAndHttp };

// scheme://host[:port][/path][?query], at most 8 KiB of printable ASCII. Failures, at the stage request: bad_request,
// host_syntax (anything about the authority), not_allowed (http where https alone is let).
[[nodiscard]] Outcome<Url> parse_url(std::string_view text, Schemes schemes);
// An origin and nothing behind it. Error: bad_origin.
[[nodiscard]] Result<Origin> parse_origin(std::string_view text, Schemes schemes);
// "host:port", the port required (CONNECT's target). Failure: host_syntax.
struct HostPort {
  Host host;
  std::uint16_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};
[[nodiscard]] Outcome<HostPort> parse_host_port(std::string_view text);
// A Location header's value, relative to the URL it came from. A fragment, a dot segment or a byte that parse_url does
// not take refuses.
[[nodiscard]] Outcome<Url> resolve_reference(const Url& base, std::string_view reference, Schemes schemes);

}  // namespace loom::egress
