#include "egress/tunnel_stepper.h"

namespace loom::egress {

namespace effect = tunnel_effect;
namespace event = tunnel_event;

namespace {

constexpr std::string_view kReady = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

}  // namespace

void TunnelStepper::operator()(const event::ClientBytes& event) {
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

void TunnelStepper::read_http() {
  const auto head_end = find_head_end(tunnel.bytes, std::exchange(tunnel.scanned, tunnel.bytes.size()));
  if (!head_end) return refuse({head_end.error().code, "", head_end.error().what});
  if (!*head_end || !door_is_open(Front::kConnect)) return;
  const std::string head = tunnel.bytes.substr(0, **head_end);
  tunnel.bytes.erase(0, **head_end);
  admit_target(judge_http_target(head, *context.rules));
}

void TunnelStepper::read_greeting() {
  tunnel.asked.front = Front::kSocks;
  const auto greeting = parse_socks_greeting(tunnel.bytes);
  if (!greeting || !*greeting) return;  // its first byte was right, so that it is no more than incomplete
  tunnel.bytes.erase(0, (*greeting)->bytes);
  add(effect::Say{render_socks_method((*greeting)->without_auth)});
  if (!(*greeting)->without_auth) return end("");
  tunnel.phase = TunnelPhase::kSocksRequest;
  read_socks_request();
}

void TunnelStepper::read_socks_request() {
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

// False when the rules cannot be read: then nothing is judged, and everything refused.
bool TunnelStepper::door_is_open(Front front) {
  if (context.rules) return true;
  tunnel.asked.front = front;
  refuse(context.closed.value_or(ProxyRefusal{"config_unreadable", "", "the proxy's configuration cannot be read"}));
  return false;
}

void TunnelStepper::admit_target(JudgedTarget judged) {
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

void TunnelStepper::read_hello(std::string_view bytes) {
  const auto hello = tunnel.hello.feed(bytes);
  if (!hello) return refuse_opened({hello.error().code, "not_tls", hello.error().what});
  if (!*hello) return;
  const auto named = judge_server_name(**hello, tunnel.target->host);
  if (!named) return refuse_opened({named.error().code, "server_name", named.error().what});
  relay(std::nullopt);
}

void TunnelStepper::relay(std::optional<BodyGate> gate) {
  tunnel.phase = TunnelPhase::kRelaying;
  tunnel.due = context.now + kIdlePatience;
  add(effect::Relay{std::exchange(tunnel.bytes, {}), gate});
}

}  // namespace loom::egress
