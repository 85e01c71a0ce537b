// The shell around the pure core (libloom/broker/broker_core.h): it turns readiness into events, carries out effects in
// order, and decides nothing. The same one serves `run` and `smoke` (an embedded client) and `serve` (clients on a
// socket). Ownership: it owns the core, the helpers' processes and the clients' connections. Carries out:
// spec/broker.md.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/broker_core.h"
#include "helper_process.h"
#include "os/jail_dir.h"
#include "os/loop.h"
#include "os/subreaper.h"
#include "os/unique_fd.h"
#include "proxy_process.h"
#include "service/frame_channel.h"

namespace loom::broker {

struct ShellOptions {
  BrokerConfig config;
  std::string helper;                    // its program
  std::vector<std::string> helper_args;  // after "serve"
  ProxyOptions proxy;                    // the way out
  bool blocks_of_ids = false;            // each helper gets a block of host ids of its own (--jail-uid)
};

struct ShellEvents {
  std::function<void(const LogLine&)> log;
  // Every helper proved gone, or given up on. Once per close() that was asked for.
  std::function<void(const Closed&)> closed;
};

class Shell {
 public:
  using EmbeddedReply = std::function<void(std::uint64_t id, const ControlReply&)>;

  // Nothing is started yet. Error: subreaper_failed.
  [[nodiscard]] static Result<std::unique_ptr<Shell>> open(Loop& loop, ShellOptions options, ShellEvents events);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  void boot();
  void add_client(UniqueFd socket, bool allowed);
  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  // A client in this process; one at a time.
  void embed(EmbeddedReply reply);
  void request(std::uint64_t id, Request request);
  void close(std::optional<std::uint64_t> drain_ms = std::nullopt);
  // Hears out what clients have already sent; calls back once everything told to them was written, at most a second
  // later.
  void when_told(std::function<void()> callback);

 private:
  struct Client {
    std::unique_ptr<service::FrameChannel> channel;
    Loop::Timer linger;  // bounds how long a closed client may take to read its last frames
    bool closing = false;
  };

  Shell(Loop& loop, ShellOptions options, ShellEvents events);

  void handle(Event event);
  void carry_out(Effect effect);
  void arm_tick();

  void spawn(const SpawnHelper& order);
  void send_to_helper(SendToHelper order);
  void on_helper_channel(HelperId helper, service::ChannelEnd how, const Error& why);
  void on_helper_exit(HelperId helper, ChildEnd end);
  void on_orphan(pid_t pid);
  [[nodiscard]] std::vector<Pid> new_orphans();

  void start_proxy(const StartProxy& order);
  void stop_proxy(ProxyId proxy);
  void read_proxy_records();
  void look_at_proxy_records();
  void end_proxies();

  void reply(const Reply& order);
  void close_client(ConnId conn);
  void on_client_end(ConnId conn, service::ChannelEnd how, const Error& why);
  void forget_client(ConnId conn);
  void hear_out();
  void look_at_told(TimePoint until, std::function<void()> callback);
  // Destroys later, from the loop: the object may be what is calling us.
  template <class T>
  void bury(T object) {
    loop_.post([buried = std::make_shared<T>(std::move(object))] {});
  }

  Loop& loop_;
  ShellOptions options_;
  ShellEvents events_;
  BrokerCore core_;
  std::string policy_;  // the base, encoded
  std::unique_ptr<Subreaper> reaper_;
  service::InboundBudget inbound_;
  std::map<HelperId, std::unique_ptr<HelperProcess>> helpers_;
  JailDir jail_dir_;
  std::map<ProxyId, std::unique_ptr<ProxyProcess>> proxies_;
  std::map<ConnId, Client> clients_;
  ConnId next_conn_ = 1;
  ConnId embedded_ = 0;
  EmbeddedReply embedded_reply_;
  std::set<pid_t> told_orphans_;   // the core knows of them
  std::set<pid_t> found_orphans_;  // came to us when one of those was reaped
  std::vector<pid_t> withheld_;    // reaped, and told once what they left has been reaped, too
  std::deque<Event> pending_;
  bool handling_ = false;
  std::optional<TimePoint> tick_at_;
  Loop::Timer tick_;
  Loop::Timer telling_;
  Loop::Timer reading_;
};

}  // namespace loom::broker
