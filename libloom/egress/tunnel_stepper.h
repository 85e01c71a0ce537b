// The step of a tunnel's core in its parts: asking (tunnel_asking.cc), reaching the upstream (tunnel_reaching.cc), and
// every way to an end (tunnel_ending.cc). Internal to the core; the table is in tunnel.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "egress/tunnel.h"

namespace loom::egress {

struct TunnelStepper {
  Tunnel& tunnel;
  const TunnelContext& context;
  std::vector<TunnelEffect> effects;

  void operator()(const tunnel_event::ClientBytes& event);
  void operator()(const tunnel_event::ClientEof&);
  void operator()(const tunnel_event::ClientLost&);
  void operator()(const tunnel_event::Resolved& event);
  void operator()(const tunnel_event::Connected&);
  void operator()(const tunnel_event::ConnectFailed& event);
  void operator()(const tunnel_event::UpstreamEof&);
  void operator()(const tunnel_event::UpstreamLost&);
  void operator()(const tunnel_event::Moved& event);
  void operator()(const tunnel_event::BodyFault&);
  void operator()(const tunnel_event::RecordFailed&);
  void operator()(const tunnel_event::Due&);
  void operator()(const tunnel_event::Stop&);

  // asking
  void read_http();
  void read_greeting();
  void read_socks_request();
  bool door_is_open(Front front);
  void admit_target(JudgedTarget judged);
  void read_hello(std::string_view bytes);
  void relay(std::optional<BodyGate> gate);

  // reaching
  void take_answer(const tunnel_event::Resolved& event);
  void connect_next();
  void connect_failed(const ProxyRefusal& why);
  void relay_plain();

  // ending
  void record(bool allowed, const ProxyRefusal& refusal);
  void close_record(std::string_view error);
  void over(std::string_view error);
  void end(std::string_view error);
  void say_refusal(const ProxyRefusal& refusal);
  void refuse(const ProxyRefusal& refusal);
  void refuse_opened(const ProxyRefusal& refusal);
  void end_plain(std::string_view error);

  void add(TunnelEffect each) { effects.push_back(std::move(each)); }
  [[nodiscard]] std::int64_t since(TimePoint then) const { return to_ms(context.now - then); }
  [[nodiscard]] std::string asked() const { return render_asked(tunnel.asked.host, tunnel.asked.port); }
};

}  // namespace loom::egress
