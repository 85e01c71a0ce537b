#include "egress/tunnel.h"

#include <utility>

namespace loom::egress {

namespace effect = tunnel_effect;
namespace event = tunnel_event;

namespace {

using Effects = std::vector<TunnelEffect>;

constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";
const ProxyRefusal kSlowHead{"head_timeout", "", "no whole request within 10 seconds"};
constexpr std::string_view kReady = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

struct Stepper {
  Tunnel& tunnel;
  const TunnelContext& context;
  Effects effects;

  void add(TunnelEffect each) { effects.push_back(std::move(each)); }
  [[nodiscard]] std::int64_t since(TimePoint then) const { return to_ms(context.now - then); }
  [[nodiscard]] std::string asked() const { return render_asked(tunnel.asked.host, tunnel.asked.port); }

  void record(bool allowed, const ProxyRefusal& refusal) {
    add(effect::Record{{tunnel.asked, allowed, refusal.code, refusal.rule, tunnel.addresses, since(tunnel.began)}});
  }

  // The closing record of an admitted tunnel; nothing for what never was one.
  void close_record(std::string_view error) {
    if (!tunnel.admitted) return;
    tunnel.closing.error = error;
    tunnel.closing.ms = since(*tunnel.admitted);
    add(effect::RecordClosing{tunnel.closing});
    tunnel.admitted.reset();
  }

  void over(std::string_view error) {
    close_record(error);
    tunnel.phase = TunnelPhase::kOver;
    tunnel.due.reset();
    add(effect::Finish{});
  }

  // Nothing more will be asked; the client may read its last words in peace.
  void end(std::string_view error) {
    close_record(error);
    tunnel.phase = TunnelPhase::kEnding;
    tunnel.due = context.now + kLingerPatience;
    add(effect::EndUpstream{});
    add(effect::ShutClient{});
    if (tunnel.client_eof) over("");
  }

  void say_refusal(const ProxyRefusal& refusal) {
    add(effect::Say{render_refusal(refusal, tunnel.asked.front, asked())});
  }

  void refuse(const ProxyRefusal& refusal) {
    record(false, refusal);
    say_refusal(refusal);
    end(refusal.code);
  }

  // The client has been told "connected": there is nothing left to say but the end, and the record says why.
  void refuse_opened(const ProxyRefusal& refusal) {
    record(false, refusal);
    end(refusal.code);
  }

  void admit_target(JudgedTarget judged) {
    if (auto* refused = std::get_if<RefusedTarget>(&judged)) {
      tunnel.asked = std::move(refused->asked);
      return refuse(refused->refusal);
    }
    if (std::holds_alternative<ReadyQuestion>(judged)) {
      add(effect::Say{std::string(kReady)});
      return end("");
    }
    tunnel.target = std::get<ProxyTarget>(std::move(judged));
    const Host& host = tunnel.target->host;
    const std::string text = host.kind == HostKind::kIpv6 ? "[" + host.text + "]" : host.text;
    tunnel.asked = {tunnel.target->front, text, std::to_string(tunnel.target->port)};
    if (context.full) return refuse({"too_many_tunnels", "", "as many tunnels as there may be are open"});
    tunnel.rules = context.rules;
    tunnel.phase = TunnelPhase::kResolving;
    tunnel.connect_by = context.now + context.rules->upstream_patience;
    tunnel.due = tunnel.connect_by;
    add(effect::LookUp{host, tunnel.connect_by});
  }

  // False when the rules cannot be read: then nothing is judged, and everything refused.
  bool door_is_open(Front front) {
    if (context.rules) return true;
    tunnel.asked.front = front;
    refuse(context.closed.value_or(ProxyRefusal{"config_unreadable", "", "the proxy's configuration cannot be read"}));
    return false;
  }

  void read_http() {
    const auto head_end = find_head_end(tunnel.bytes, std::exchange(tunnel.scanned, tunnel.bytes.size()));
    if (!head_end) return refuse({head_end.error().code, "", head_end.error().what});
    if (!*head_end || !door_is_open(Front::kConnect)) return;
    const std::string head = tunnel.bytes.substr(0, **head_end);
    tunnel.bytes.erase(0, **head_end);
    admit_target(judge_http_target(head, *context.rules));
  }

  void read_greeting() {
    tunnel.asked.front = Front::kSocks;
    const auto greeting = parse_socks_greeting(tunnel.bytes);
    if (!greeting || !*greeting) return;  // its first byte was right, so that it is no more than incomplete
    tunnel.bytes.erase(0, (*greeting)->bytes);
    add(effect::Say{render_socks_method((*greeting)->without_auth)});
    if (!(*greeting)->without_auth) return end("");
    tunnel.phase = TunnelPhase::kSocksRequest;
    read_socks_request();
  }

  void read_socks_request() {
    const auto request = parse_socks_request(tunnel.bytes);
    if (!request) return refuse({request.error().code, "", request.error().what});
    if (!*request) return;
    tunnel.bytes.erase(0, (*request)->bytes);
    if ((*request)->verdict != SocksReply::kSucceeded) {
      // No rule is asked: SOCKS has an answer of its own for what is not offered.
      tunnel.asked = {Front::kSocks, (*request)->host, std::to_string((*request)->port)};
      record(false, {"socks_unsupported", "", ""});
      add(effect::Say{render_socks_reply((*request)->verdict)});
      return end("");
    }
    if (door_is_open(Front::kSocks)) admit_target(judge_socks_target(**request, *context.rules));
  }

  void read_hello(std::string_view bytes) {
    const auto hello = tunnel.hello.feed(bytes);
    if (!hello) return refuse_opened({hello.error().code, "not_tls", hello.error().what});
    if (!*hello) return;
    const auto named = judge_server_name(**hello, tunnel.target->host);
    if (!named) return refuse_opened({named.error().code, "server_name", named.error().what});
    relay(std::nullopt);
  }

  void relay(std::optional<BodyGate> gate) {
    tunnel.phase = TunnelPhase::kRelaying;
    tunnel.due = context.now + kIdlePatience;
    add(effect::Relay{std::exchange(tunnel.bytes, {}), std::move(gate)});
  }

  void operator()(const event::ClientBytes& event) {
    switch (tunnel.phase) {
      case TunnelPhase::kOpening:
        tunnel.bytes += event.bytes;
        if (tunnel.bytes.empty()) return;
        return tunnel.bytes.front() == kSocksVersion ? read_greeting() : read_http();
      case TunnelPhase::kSocksRequest:
        tunnel.bytes += event.bytes;
        return read_socks_request();
      case TunnelPhase::kResolving:
      case TunnelPhase::kConnecting:
        tunnel.bytes += event.bytes;
        return;
      case TunnelPhase::kHello:
        tunnel.bytes += event.bytes;
        return read_hello(event.bytes);
      case TunnelPhase::kRelaying:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
  }

  void operator()(const event::ClientEof&) {
    tunnel.client_eof = true;
    switch (tunnel.phase) {
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
        return over("");
      case TunnelPhase::kResolving:
      case TunnelPhase::kConnecting:
        // Who asks for a tunnel and shuts it has gone; a plain request may be complete.
        if (!tunnel.plain()) over("client_gone");
        return;
      case TunnelPhase::kHello:
        return over("hello_missing");
      case TunnelPhase::kRelaying:
        if (tunnel.plain()) return;
        if (tunnel.upstream_eof) return over("");
        add(effect::ShutUpstream{});
        return;
      case TunnelPhase::kEnding:
        return over("");
      case TunnelPhase::kOver:
        return;
    }
  }

  void operator()(const event::ClientLost&) {
    if (tunnel.phase != TunnelPhase::kOver) over("client_gone");
  }

  void operator()(const event::Resolved& event) {
    switch (tunnel.phase) {
      case TunnelPhase::kResolving:
        return take_answer(event);
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kConnecting:
      case TunnelPhase::kHello:
      case TunnelPhase::kRelaying:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
  }

  void take_answer(const event::Resolved& event) {
    if (!event.answer) {
      ProxyRefusal refusal = event.answer.error();
      refusal.rule = tunnel.target->rule;
      return refuse(refusal);
    }
    tunnel.addresses = *event.answer;
    if (const auto refusal = judge_addresses(tunnel.target->port, tunnel.addresses, tunnel.rules->addresses))
      return refuse(*refusal);
    record(true, {"", tunnel.target->rule, ""});
    tunnel.admitted = context.now;
    tunnel.phase = TunnelPhase::kConnecting;
    connect_next();
  }

  // An equal share of what time is left for each address: the first may lead nowhere.
  void connect_next() {
    const auto left = static_cast<std::int64_t>(tunnel.addresses.size() - tunnel.tried);
    tunnel.due = context.now + (tunnel.connect_by - context.now) / left;
    tunnel.closing.address = tunnel.addresses[tunnel.tried++];
    add(effect::Connect{*tunnel.closing.address, tunnel.target->port});
  }

  // The target was admitted: its end is told by the closing record, not by a second decision.
  void connect_failed(const ProxyRefusal& why) {
    if (tunnel.tried < tunnel.addresses.size() && context.now < tunnel.connect_by) return connect_next();
    say_refusal(why);
    end(why.code);
  }

  void operator()(const event::Connected&) {
    switch (tunnel.phase) {
      case TunnelPhase::kConnecting:
        break;
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kResolving:
      case TunnelPhase::kHello:
      case TunnelPhase::kRelaying:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
    switch (tunnel.target->front) {
      case Front::kForward:
        return relay_plain();
      case Front::kConnect:
        add(effect::Say{std::string(kEstablished)});
        break;
      case Front::kSocks:
        add(effect::Say{render_socks_reply(SocksReply::kSucceeded)});
        break;
    }
    tunnel.phase = TunnelPhase::kHello;
    tunnel.opened = true;
    tunnel.due = context.now + kHelloPatience;
    if (!tunnel.bytes.empty()) read_hello(std::string(tunnel.bytes));
  }

  void relay_plain() {
    BodyGate gate = tunnel.target->body;
    const auto body = gate.admit(tunnel.bytes);
    if (!body) {
      say_refusal({"bad_request", "", body.error().what});
      return end("bad_request");
    }
    tunnel.bytes = tunnel.target->forward_head + tunnel.bytes.substr(0, *body);
    relay(gate);
  }

  void operator()(const event::ConnectFailed& event) {
    switch (tunnel.phase) {
      case TunnelPhase::kConnecting:
        return connect_failed(event.why);
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kResolving:
      case TunnelPhase::kHello:
      case TunnelPhase::kRelaying:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
  }

  // A request that got no byte of an answer is told so.
  void end_plain(std::string_view error) {
    if (tunnel.closing.down > 0) return end(error);
    say_refusal({"upstream", "", "the upstream closed the connection without an answer"});
    end("upstream");
  }

  void operator()(const event::UpstreamEof&) {
    switch (tunnel.phase) {
      case TunnelPhase::kRelaying:
        if (tunnel.plain()) return end_plain("");
        tunnel.upstream_eof = true;
        if (tunnel.client_eof) return over("");
        add(effect::ShutClient{});
        return;
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kResolving:
      case TunnelPhase::kConnecting:
      case TunnelPhase::kHello:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
  }

  void operator()(const event::UpstreamLost&) {
    switch (tunnel.phase) {
      case TunnelPhase::kHello:
        return end("upstream");
      case TunnelPhase::kRelaying:
        if (tunnel.plain()) return end_plain("upstream");
        // One that has said its last word may close at once: what is sent it then comes back as a reset.
        return end(tunnel.upstream_eof ? "" : "upstream");
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kResolving:
      case TunnelPhase::kConnecting:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
  }

  void operator()(const event::Moved& event) {
    switch (tunnel.phase) {
      case TunnelPhase::kRelaying:
        tunnel.closing.up = event.up;
        tunnel.closing.down = event.down;
        tunnel.due = context.now + kIdlePatience;
        return;
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kResolving:
      case TunnelPhase::kConnecting:
      case TunnelPhase::kHello:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
  }

  void operator()(const event::BodyFault&) {
    switch (tunnel.phase) {
      case TunnelPhase::kRelaying:
        return end("bad_request");
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kResolving:
      case TunnelPhase::kConnecting:
      case TunnelPhase::kHello:
      case TunnelPhase::kEnding:
      case TunnelPhase::kOver:
        return;
    }
  }

  // What stood behind the record was not carried out.
  void operator()(const event::RecordFailed&) {
    switch (tunnel.phase) {
      case TunnelPhase::kResolving:
      case TunnelPhase::kConnecting:
      case TunnelPhase::kEnding:
        tunnel.admitted.reset();
        if (!tunnel.opened) say_refusal({"record_failed", "", "the record of the decision cannot be written"});
        return end("");
      case TunnelPhase::kOver:
        add(effect::Finish{});
        return;
      case TunnelPhase::kOpening:
      case TunnelPhase::kSocksRequest:
      case TunnelPhase::kHello:
      case TunnelPhase::kRelaying:
        return;
    }
  }

  void operator()(const event::Due&) {
    if (!tunnel.due || *tunnel.due > context.now) return;
    switch (tunnel.phase) {
      case TunnelPhase::kOpening:
        // A SOCKS client has nothing it could be told yet.
        if (tunnel.asked.front != Front::kSocks) add(effect::Say{render_http_refusal(kSlowHead, "")});
        return end("");
      case TunnelPhase::kSocksRequest:
        return end("");
      case TunnelPhase::kResolving:
        return refuse({"deadline", tunnel.target->rule, "the name was not resolved in time"});
      case TunnelPhase::kConnecting:
        return connect_failed({"deadline", "", "the upstream did not answer in time"});
      case TunnelPhase::kHello:
        return refuse_opened({"hello_missing", "not_tls", "no TLS hello came in time"});
      case TunnelPhase::kRelaying:
        return end("idle");
      case TunnelPhase::kEnding:
        return over("");
      case TunnelPhase::kOver:
        return;
    }
  }

  void operator()(const event::Stop&) {
    if (tunnel.phase != TunnelPhase::kOver) over("proxy_ended");
  }
};

}  // namespace

Tunnel begin_tunnel(TimePoint now) {
  Tunnel tunnel;
  tunnel.began = now;
  tunnel.due = now + kHeadPatience;
  return tunnel;
}

std::vector<TunnelEffect> step(Tunnel& tunnel, const TunnelEvent& event, const TunnelContext& context) {
  Stepper stepper{tunnel, context, {}};
  std::visit(stepper, event);
  return std::move(stepper.effects);
}

bool wants_client_bytes(const Tunnel& tunnel) {
  switch (tunnel.phase) {
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
      return tunnel.bytes.size() < kMaxEarlyBytes;
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
    case TunnelPhase::kHello:
    case TunnelPhase::kEnding:
      return true;
    case TunnelPhase::kRelaying:
    case TunnelPhase::kOver:
      return false;
  }
  return false;
}

bool is_open_tunnel(const Tunnel& tunnel) {
  switch (tunnel.phase) {
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
    case TunnelPhase::kHello:
    case TunnelPhase::kRelaying:
      return true;
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
    case TunnelPhase::kEnding:
    case TunnelPhase::kOver:
      return false;
  }
  return false;
}

std::string_view to_text(TunnelPhase phase) {
  switch (phase) {
    case TunnelPhase::kOpening:
      return "opening";
    case TunnelPhase::kSocksRequest:
      return "socks_request";
    case TunnelPhase::kResolving:
      return "resolving";
    case TunnelPhase::kConnecting:
      return "connecting";
    case TunnelPhase::kHello:
      return "hello";
    case TunnelPhase::kRelaying:
      return "relaying";
    case TunnelPhase::kEnding:
      return "ending";
    case TunnelPhase::kOver:
      return "over";
  }
  return "over";
}

}  // namespace loom::egress
