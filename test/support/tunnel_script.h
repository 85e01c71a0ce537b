// A tunnel's core driven by hand: what it was told, and what it wanted done, as text that a test can compare.
#pragma once

#include <string>
#include <vector>

#include "egress/tunnel.h"

namespace loom::test {

class TunnelScript {
 public:
  explicit TunnelScript(const std::vector<std::string>& allow, const std::vector<std::string>& ip_allow = {}) {
    egress::ProxyRules rules;
    rules.allow = AllowList::parse(allow).value();
    for (const std::string& range : ip_allow) rules.addresses.allow.push_back(egress::parse_range(range).value());
    rules.addresses.own.push_back({egress::ipv4(127, 0, 0, 1), 3128});
    context.rules = std::make_shared<const egress::ProxyRules>(std::move(rules));
    context.now = TimePoint(seconds(1000));
    core = egress::begin_tunnel(context.now);
  }

  // The effects of an event, one a line.
  std::string feed(const egress::TunnelEvent& event) {
    std::string told;
    for (const egress::TunnelEffect& each : egress::step(core, event, context)) {
      if (const auto* say = std::get_if<egress::tunnel_effect::Say>(&each)) said += say->bytes;
      if (const auto* relay = std::get_if<egress::tunnel_effect::Relay>(&each)) first = relay->first;
      if (const auto* record = std::get_if<egress::tunnel_effect::Record>(&each)) decisions.push_back(record->decision);
      if (const auto* record = std::get_if<egress::tunnel_effect::RecordClosing>(&each))
        closings.push_back(record->closing);
      if (!told.empty()) told += "\n";
      told += std::visit([](const auto& effect) { return text(effect); }, each);
    }
    return told;
  }
  std::string bytes(std::string_view bytes) { return feed(egress::tunnel_event::ClientBytes{bytes}); }
  std::string answer(const std::vector<std::string>& addresses) {
    std::vector<egress::Address> parsed;
    for (const std::string& address : addresses) parsed.push_back(egress::parse_address(address).value());
    return feed(egress::tunnel_event::Resolved{std::move(parsed)});
  }
  std::string connected() { return feed(egress::tunnel_event::Connected{}); }
  std::string due_after(Duration wait) {
    context.now += wait;
    return feed(egress::tunnel_event::Due{});
  }

  egress::TunnelContext context;
  egress::Tunnel core;
  std::string said;
  std::string first;
  std::vector<egress::Decision> decisions;
  std::vector<egress::Closing> closings;

 private:
  static std::string text(const egress::tunnel_effect::Record& effect) {
    const egress::Decision& decision = effect.decision;
    return "record " + (decision.allowed ? "allowed by " + decision.rule : "refused " + decision.code);
  }
  static std::string text(const egress::tunnel_effect::RecordClosing& effect) {
    return "closing" + (effect.closing.error.empty() ? "" : " " + effect.closing.error);
  }
  static std::string text(const egress::tunnel_effect::Say& effect) {
    if (effect.bytes.front() == '\x05')
      return "say socks " + std::to_string(static_cast<unsigned char>(effect.bytes[1]));
    return "say " + effect.bytes.substr(9, effect.bytes.find('\r') - 9);
  }
  static std::string text(const egress::tunnel_effect::LookUp& effect) { return "look up " + effect.host.text; }
  static std::string text(const egress::tunnel_effect::Connect& effect) {
    return "connect " + egress::render_address(effect.address) + " " + std::to_string(effect.port);
  }
  static std::string text(const egress::tunnel_effect::Relay& effect) {
    return effect.gate ? (effect.gate->done() ? "relay plain" : "relay plain, body to come") : "relay";
  }
  static std::string text(const egress::tunnel_effect::ShutUpstream& /*effect*/) { return "shut upstream"; }
  static std::string text(const egress::tunnel_effect::ShutClient& /*effect*/) { return "shut client"; }
  static std::string text(const egress::tunnel_effect::EndUpstream& /*effect*/) { return "end upstream"; }
  static std::string text(const egress::tunnel_effect::Finish& /*effect*/) { return "finish"; }
};

}  // namespace loom::test
