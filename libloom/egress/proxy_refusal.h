// What the proxy says to a client whose request it does not carry out: the status line that clients print, a line for
// people, SOCKS replies (spec/egress.md "The proxy": Refusals). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "egress/socks.h"

namespace loom::egress {

// How a client speaks to the proxy.
enum class Front { kConnect, kForward, kSocks };
[[nodiscard]] std::string_view render_front(Front front);

// `code` is stable: bad_request, host_syntax, host_differs, not_allowed, address_refused, config_unreadable,
// record_failed, too_many_tunnels, head_timeout; dns, connect, deadline, upstream (it did not answer); and, of a tunnel
// that was opened already, sni_missing, sni_differs, not_tls, hello_missing. `rule` is what decided: an ENTRY, the
// reason of the address judge.
struct ProxyRefusal {
  std::string code;
  std::string rule;
  std::string what;
};

// What was asked for, as text that a line may hold: "other.test:443", or "" where it could not be read.
[[nodiscard]] std::string render_asked(std::string_view host, std::string_view port);

[[nodiscard]] int http_status(const ProxyRefusal& refusal);
[[nodiscard]] SocksReply socks_reply(const ProxyRefusal& refusal);
// A whole HTTP answer that closes the connection.
[[nodiscard]] std::string render_http_refusal(const ProxyRefusal& refusal, std::string_view asked);
[[nodiscard]] std::string render_refusal(const ProxyRefusal& refusal, Front front, std::string_view asked);

}  // namespace loom::egress
