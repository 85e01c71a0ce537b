#include "egress/tunnel_stepper.h"

namespace loom::egress {

namespace effect = tunnel_effect;
namespace event = tunnel_event;

namespace {

constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";

}  // namespace

void TunnelStepper::operator()(const event::Resolved& event) {
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

void TunnelStepper::take_answer(const event::Resolved& event) {
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
void TunnelStepper::connect_next() {
  const auto left = static_cast<std::int64_t>(tunnel.addresses.size() - tunnel.tried);
  tunnel.due = context.now + (tunnel.connect_by - context.now) / left;
  tunnel.closing.address = tunnel.addresses[tunnel.tried++];
  add(effect::Connect{*tunnel.closing.address, tunnel.target->port});
}

// The target was admitted: its end is told by the closing record, not by a second decision.
void TunnelStepper::connect_failed(const ProxyRefusal& why) {
  if (tunnel.tried < tunnel.addresses.size() && context.now < tunnel.connect_by) return connect_next();
  say_refusal(why);
  end(why.code);
}

void TunnelStepper::operator()(const event::Connected&) {
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

void TunnelStepper::relay_plain() {
  BodyGate gate = tunnel.target->body;
  const auto body = gate.admit(tunnel.bytes);
  if (!body) {
    say_refusal({"bad_request", "", body.error().what});
    return end("bad_request");
  }
  tunnel.bytes = tunnel.target->forward_head + tunnel.bytes.substr(0, *body);
  relay(gate);
}

void TunnelStepper::operator()(const event::ConnectFailed& event) {
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

}  // namespace loom::egress
