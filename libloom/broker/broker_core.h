// The broker as one pure value: clearing, accounting, the helpers' pool, settlements, closing. The same core serves
// `loom-broker run` (one slot, an embedded client) and `serve`.
// Purpose: step() is the only way in, its effects the only way out; no clock is read, nothing is written, no thread.
// Ownership: a BrokerCore owns all books; it holds a request's argv, environment and policy only until its exec_start
// was given out, and a token only while its execution lives.
// Errors: none. Every event is legal in every state; what cannot apply is answered or ignored, as the tables in the
// parts' headers say. Carries out: spec/broker.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "broker/event.h"
#include "plan/report.h"
#include "policy/model.h"

namespace loom::broker {

struct ToolVersion {
  std::string name;
  std::optional<std::string> version;  // absent: not installed
};

struct BrokerConfig {
  Policy base;
  // An embedded broker (`run`): the base is the caller's own document and its grants are allowed; its demand is the
  // caller's, so that `demand` is to be kBestEffort there.
  bool allow_grants = false;
  Demand demand = Demand::kPlatform;  // no call asks for less
  bool allow_sessions = false;
  bool can_proxy = false;                   // a jail can be given a proxy (narrow_unenforceable)
  std::vector<std::string> egress_callers;  // who has a grant at the capability endpoint
  Path jail_dir;                    // where the sockets for jails lie, the proxies' among them; "": there are none
  Path control_dir;                 // the socket's own directory, protected in every call; "" without a socket
  std::vector<Path> way_out_files;  // the proxies' configuration and record: protected in every call, too
  std::uint32_t pool_size = 4;      // execution slots
  std::uint32_t per_helper = 4;     // 1..4
  std::uint32_t spare_helpers = 0;  // started at boot
  bool heartbeat = false;
  bool local_helpers = true;      // false: behind --helper-command, whose end is proved by its status alone
  std::uint64_t incarnation = 0;  // wall-clock microseconds at boot
  std::uint64_t drain_ms = 3000;
  std::string peer = "loom-broker";  // as hello says it: "loom-broker/VERSION"
  std::vector<ToolVersion> tools;    // for the census
};

class BrokerCore {
 public:
  explicit BrokerCore(BrokerConfig config);
  ~BrokerCore();
  BrokerCore(BrokerCore&& other) noexcept;
  BrokerCore& operator=(BrokerCore&& other) noexcept;

  // Effects are to be carried out in order.
  [[nodiscard]] std::vector<Effect> step(Event event, TimePoint now);
  // When a Tick is due; nothing: not before another event.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] inline std::vector<Effect> step(BrokerCore& core, Event event, TimePoint now) {
  return core.step(std::move(event), now);
}

// The frames of the two outbound boundaries, ready to be written.
// Takes an ExecStart's token: nothing but the bytes that come out holds it afterwards.
[[nodiscard]] std::string encode_exec(std::uint64_t id, ExecMessage message);
[[nodiscard]] std::string encode_control(std::uint64_t id, const ControlReply& message);

// event=call.settled execution=1.7 class=exited ... ; the same as one JSON object with ts left to the caller.
[[nodiscard]] std::string render_logfmt(const LogLine& line);
[[nodiscard]] std::string render_log_json(const LogLine& line);

// Processors online clamped to 4..16.
[[nodiscard]] std::uint32_t pool_size_for(std::uint32_t processors);

}  // namespace loom::broker
