// What a client of the proxy asks for, and whether the policy lets it, before any lookup (spec/egress.md "One judge",
// "The proxy"): CONNECT's target, the URL of an absolute-form request and a SOCKS5 request pass one host parser and one
// allow list. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "egress/addresses.h"
#include "egress/forward.h"
#include "egress/http_head.h"
#include "egress/proxy_refusal.h"
#include "egress/socks.h"
#include "policy/allow_list.h"

namespace loom::egress {

// What decides; whoever judges holds it for as long as the judgement lasts.
struct ProxyRules {
  AllowList allow;
  AddressRules addresses;                    // ip_allow of the configuration, and our own listeners
  Duration upstream_patience = seconds(30);  // lookup and connect together
};

struct ProxyTarget {
  Front front = Front::kConnect;
  Host host;
  std::uint16_t port = 0;
  std::string rule;          // the ENTRY that admits it
  std::string forward_head;  // kForward: what the upstream is sent
  BodyGate body;             // kForward: what of the client's bytes follows it
};

// As it was asked for: for records, and for the lines people read. Syntax that was refused is shown as it came.
struct Asked {
  Front front = Front::kConnect;
  std::string host;
  std::string port;
};

struct RefusedTarget {
  ProxyRefusal refusal;
  Asked asked;
};
// GET http://loom.invalid/ready, which the proxy answers itself.
struct ReadyQuestion {};
using JudgedTarget = std::variant<ProxyTarget, ReadyQuestion, RefusedTarget>;

inline constexpr std::string_view kOwnName = "loom.invalid";

[[nodiscard]] JudgedTarget judge_http_target(std::string_view raw_head, const ProxyRules& rules);
[[nodiscard]] JudgedTarget judge_socks_target(const SocksRequest& request, const ProxyRules& rules);

// All the answers of the lookup: one bad address refuses the set. An ENTRY admits a host, be it an address; whether a
// private address may be connected to is said by ip_allow alone, for every front of loom-egress.
[[nodiscard]] std::optional<ProxyRefusal> judge_addresses(std::uint16_t port, const std::vector<Address>& answers,
                                                          const AddressRules& rules);

}  // namespace loom::egress
