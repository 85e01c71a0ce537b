#include "egress/tunnel.h"

#include <utility>

#include "egress/tunnel_stepper.h"

namespace loom::egress {

Tunnel begin_tunnel(TimePoint now) {
  Tunnel tunnel;
  tunnel.began = now;
  tunnel.due = now + kHeadPatience;
  return tunnel;
}

std::vector<TunnelEffect> step(Tunnel& tunnel, const TunnelEvent& event, const TunnelContext& context) {
  TunnelStepper stepper{tunnel, context, {}};
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
