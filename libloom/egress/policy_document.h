// The document that bounds brokered requests: P of spec/egress.md "Documents". Strict as a policy: every key is
// required at every level, an unknown or duplicate one refuses, out of range is an error and never clamped. An EMPTY
// list allows nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "egress/addresses.h"
#include "egress/method.h"
#include "egress/url.h"

namespace loom::egress {

// One entry of `origins`: a request is admitted by one entry as a whole, or not at all.
struct OriginEntry {
  Origin origin;  // https
  std::vector<Method> methods;
  std::vector<std::string> path_prefixes;  // literal
  std::vector<std::string> headers;        // lower case: what the caller may set
  std::vector<std::string> secrets;        // names of credentials that may ride
  friend bool operator==(const OriginEntry&, const OriginEntry&) = default;
};

// A credential: the environment variable that holds it, and the one header it rides in. Its one origin is that of the
// entries that name it.
struct SecretBinding {
  std::string name;
  std::string env;
  std::string header;  // lower case
  std::string prefix;  // "Bearer "
  friend bool operator==(const SecretBinding&, const SecretBinding&) = default;
};

struct Trust {
  bool system_roots = true;
  std::vector<std::string> files;  // PEM, when not the system's; a relative name is relative to the document
  friend bool operator==(const Trust&, const Trust&) = default;
};

struct Resolver {
  struct Server {
    Address address;
    std::uint16_t port = 53;
    friend bool operator==(const Server&, const Server&) = default;
  };
  std::optional<Server> server;  // nothing: the system's
  friend bool operator==(const Resolver&, const Resolver&) = default;
};

// "system", "127.0.0.1:5353", "[::1]:53".
[[nodiscard]] std::string render_resolver(const Resolver& resolver);

struct EgressPolicy {
  std::vector<OriginEntry> origins;
  std::vector<SecretBinding> secrets;
  unsigned same_host_redirects = 0;  // 0: none is followed
  std::uint64_t deadline_ms = 0;
  std::uint64_t request_bytes = 0;  // of the body; 0: no body may be sent
  std::uint64_t response_bytes = 0;
  Trust trust;
  std::vector<AddressRange> ip_allow;
  Resolver resolver;
  std::vector<std::string> response_headers;  // lower case: those handed back

  [[nodiscard]] const SecretBinding* find_secret(std::string_view name) const;
  // Whether a bound secret rides in this header (lower case).
  [[nodiscard]] bool binds_header(std::string_view lower_name) const;
  friend bool operator==(const EgressPolicy&, const EgressPolicy&) = default;
};

inline constexpr std::uint64_t kMaxBodyBytes = 32U << 20U;  // the highest legal request_bytes and response_bytes
inline constexpr std::uint64_t kMaxDeadlineMs = 3600000;
inline constexpr std::uint64_t kMaxRedirects = 20;

// Errors: those of base/json.h and policy/fields.h, unsupported_version, bad_origin, bad_method, bad_path_prefix,
// bad_header, reserved_header, unknown_secret, secret_of_two_origins, bad_env_name, bad_range,
// out_of_range, bad_resolver; `where` is the JSON pointer.
[[nodiscard]] Result<EgressPolicy> decode_egress_policy(const Value& value, const std::string& where = "");
[[nodiscard]] Result<EgressPolicy> decode_egress_policy_bytes(std::string_view json);
// Relative names of trust.roots from the folder of the document on.
void anchor_trust(EgressPolicy& policy, std::string_view folder);

}  // namespace loom::egress
