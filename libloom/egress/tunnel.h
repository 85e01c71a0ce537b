// One connection to the proxy, from its first byte to its last (spec/egress.md "The proxy"). Pure: bytes, answers and
// the time come as events; what is to be done comes back as effects, which the shell carries out in order.
//
//   event           opening         socks_request   resolving        connecting       hello           relaying ending
//   over client_bytes    judge the head  judge           keep             keep             judge the SNI   - drop     -
//   client_eof      over            over            over, but for a  over, but for a  over:           tunnel: shut the
//   over     -
//                                                   plain request    plain request    hello_missing   upstream; both:
//                                                                                                     over. plain: -
//   client_lost     over            over            over             over             over            over over     -
//   resolved        -               -               judge, record,   -                -               - -        -
//                                                   connect
//   connected       -               -               -                answer; hello,   -               - -        -
//                                                                    or relay
//   connect_failed  -               -               -                the next, or     -               - -        -
//                                                                    refuse
//   upstream_eof    -               -               -                -                -               tunnel: shut the
//   -        -
//                                                                                                     client; both:
//                                                                                                     over. plain: end
//   upstream_lost   -               -               -                -                end             end -        -
//   moved           -               -               -                -                -               count, idle anew
//   -        - body_fault      -               -               -                -                -               end -
//   -     (malformed, or cut short) record_failed   -               -               refuse           refuse           -
//   -                refuse   finish due             say so, end     end             refuse           the next, or
//   hello_missing   idle             over     -
//                                                                    refuse
//   stop            over            over            over             over             over            over over     -
//
// "-" is ignored. Every refusal and every admission is recorded before the client or the upstream sees anything of it;
// a record that could not be written turns an admission into the refusal record_failed. Once a tunnel was admitted, one
// closing record is written at its end, whatever the end is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "egress/client_hello.h"
#include "egress/proxy_target.h"

namespace loom::egress {

inline constexpr Duration kHeadPatience = seconds(10);  // HTTP head, or the whole SOCKS handshake
inline constexpr Duration kHelloPatience = seconds(10);
inline constexpr Duration kIdlePatience = seconds(300);
inline constexpr Duration kLingerPatience = seconds(2);    // for the client to read what it was told last
inline constexpr std::size_t kMaxEarlyBytes = 64U << 10U;  // of a client that does not wait for its answer

enum class TunnelPhase { kOpening, kSocksRequest, kResolving, kConnecting, kHello, kRelaying, kEnding, kOver };
[[nodiscard]] std::string_view to_text(TunnelPhase phase);

// What is recorded of a judgement, and of a tunnel's end.
struct Decision {
  Asked asked;
  bool allowed = false;
  std::string code;  // of a refusal
  std::string rule;
  std::vector<Address> addresses;
  std::int64_t ms = 0;  // since the connection was made
};
struct Closing {
  std::string error;  // "" for an end in good order
  std::optional<Address> address;
  std::uint64_t up = 0;  // bytes from the client to the upstream
  std::uint64_t down = 0;
  std::int64_t ms = 0;  // since the admission
};

namespace tunnel_effect {
struct Record {
  Decision decision;
};
struct RecordClosing {
  Closing closing;
};
struct Say {
  std::string bytes;  // to the client
};
struct LookUp {
  Host host;
  TimePoint deadline;
};
struct Connect {  // ends any attempt before it
  Address address;
  std::uint16_t port = 0;
};
// Both ways from now on: first these bytes to the upstream, then what `gate` lets of the client's (all, without one).
struct Relay {
  std::string first;
  std::optional<BodyGate> gate;
};
struct ShutUpstream {};  // no more will be written to it
struct ShutClient {};    // once everything said was written
struct EndUpstream {};   // lookup, attempt or connection
struct Finish {};        // nothing is left
}  // namespace tunnel_effect
using TunnelEffect =
    std::variant<tunnel_effect::Record, tunnel_effect::RecordClosing, tunnel_effect::Say, tunnel_effect::LookUp,
                 tunnel_effect::Connect, tunnel_effect::Relay, tunnel_effect::ShutUpstream, tunnel_effect::ShutClient,
                 tunnel_effect::EndUpstream, tunnel_effect::Finish>;

namespace tunnel_event {
struct ClientBytes {
  std::string_view bytes;
};
struct ClientEof {};
struct ClientLost {};
struct Resolved {
  tl::expected<std::vector<Address>, ProxyRefusal> answer;  // dns, deadline
};
struct Connected {};
struct ConnectFailed {
  ProxyRefusal why;  // connect, deadline
};
struct UpstreamEof {};  // and all of it was passed on
struct UpstreamLost {};
struct Moved {  // cumulative
  std::uint64_t up = 0;
  std::uint64_t down = 0;
};
struct BodyFault {};
struct RecordFailed {};
struct Due {};
struct Stop {};
}  // namespace tunnel_event
using TunnelEvent =
    std::variant<tunnel_event::ClientBytes, tunnel_event::ClientEof, tunnel_event::ClientLost, tunnel_event::Resolved,
                 tunnel_event::Connected, tunnel_event::ConnectFailed, tunnel_event::UpstreamEof,
                 tunnel_event::UpstreamLost, tunnel_event::Moved, tunnel_event::BodyFault, tunnel_event::RecordFailed,
                 tunnel_event::Due, tunnel_event::Stop>;

// What is true outside at the time of an event.
struct TunnelContext {
  TimePoint now;
  // The rules in force; what is refused with instead when there are none that can be read.
  std::shared_ptr<const ProxyRules> rules;
  std::optional<ProxyRefusal> closed;
  bool full = false;  // no further tunnel may be opened
};

struct Tunnel {
  TunnelPhase phase = TunnelPhase::kOpening;
  TimePoint began;
  std::optional<TimePoint> due;
  std::string bytes;                        // of the client, not judged yet; later those to be passed on first
  std::size_t scanned = 0;                  // of them
  std::shared_ptr<const ProxyRules> rules;  // those that admitted it
  std::optional<ProxyTarget> target;
  Asked asked;
  std::vector<Address> addresses;  // judged; [0, tried) were tried
  std::size_t tried = 0;
  TimePoint connect_by;
  std::optional<TimePoint> admitted;
  HelloReader hello;
  Closing closing;
  bool opened = false;  // the client was told that it is connected
  bool client_eof = false;
  bool upstream_eof = false;
  bool plain() const { return target && target->front == Front::kForward; }
};

[[nodiscard]] Tunnel begin_tunnel(TimePoint now);
[[nodiscard]] std::vector<TunnelEffect> step(Tunnel& tunnel, const TunnelEvent& event, const TunnelContext& context);
// Whether the client's bytes are wanted as events (in kRelaying the shell moves them itself).
[[nodiscard]] bool wants_client_bytes(const Tunnel& tunnel);
// It counts towards the tunnels that are open.
[[nodiscard]] bool is_open_tunnel(const Tunnel& tunnel);

}  // namespace loom::egress
