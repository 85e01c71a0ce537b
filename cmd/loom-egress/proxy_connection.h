// One client of the proxy: carries out what the core (egress/tunnel.h) decides, and tells it what happens.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "egress/resolver.h"
#include "egress/tunnel.h"
#include "os/loop.h"
#include "os/unique_fd.h"
#include "relay.h"

namespace loom::egress_tool {

// What a connection asks of the proxy it belongs to.
struct ProxySide {
  std::function<egress::TunnelContext()> context;  // with the rules as they stand now
  std::function<const egress::NameResolver&()> resolver;
  std::function<Status(const egress::Decision&)> record;
  std::function<void(const egress::Closing&)> record_closing;
  std::function<void()> finished;  // it is not to be touched any more but to be destroyed, later
};

class ProxyConnection {
 public:
  ProxyConnection(Loop& loop, UniqueFd client, ProxySide side);
  ProxyConnection(const ProxyConnection&) = delete;
  ProxyConnection& operator=(const ProxyConnection&) = delete;

  void stop();  // the proxy ends
  [[nodiscard]] bool open_tunnel() const { return egress::is_open_tunnel(core_); }

 private:
  // An event that owns its bytes: what comes while another is carried out waits.
  void feed(egress::TunnelEvent event);
  void step(const egress::TunnelEvent& event);
  [[nodiscard]] egress::TunnelContext context_for(const egress::TunnelEvent& event) const;

  // Each carries one effect out. False: the rest of them is not carried out.
  bool operator()(egress::tunnel_effect::Record& effect);
  bool operator()(egress::tunnel_effect::RecordClosing& effect) const;
  bool operator()(egress::tunnel_effect::Say& effect);
  bool operator()(egress::tunnel_effect::LookUp& effect);
  bool operator()(egress::tunnel_effect::Connect& effect);
  bool operator()(egress::tunnel_effect::Relay& effect);
  bool operator()(egress::tunnel_effect::ShutUpstream& effect);
  bool operator()(egress::tunnel_effect::ShutClient& effect);
  bool operator()(egress::tunnel_effect::EndUpstream& effect);
  bool operator()(egress::tunnel_effect::Finish& effect);

  void read_client();
  void write_client();
  void on_connect();
  void on_relay_end(Relay::End how);
  void watch_client();
  void arm_timer();
  void end_upstream();

  Loop& loop_;
  UniqueFd client_;
  ProxySide side_;
  egress::Tunnel core_;
  std::deque<egress::TunnelEvent> waiting_;
  bool stepping_ = false;
  bool over_ = false;
  std::string unsaid_;
  bool shut_when_said_ = false;
  Loop::Watch client_held_;
  Loop::Watch client_readable_;
  Loop::Watch client_writable_;
  egress::NameResolver::Lookup lookup_;
  UniqueFd upstream_;
  Loop::Watch upstream_held_;
  Loop::Watch connecting_;
  std::unique_ptr<Relay> relay_;
  Loop::Timer timer_;
  std::optional<TimePoint> armed_;
};

}  // namespace loom::egress_tool
