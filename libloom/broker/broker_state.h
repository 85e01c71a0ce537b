// The insides of BrokerCore: the books, and what each kind of event does to them. Private to broker/broker_*.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker_core.h"
#include "broker/budget.h"
#include "broker/clearance.h"
#include "broker/closing.h"
#include "broker/door.h"
#include "broker/local_executor.h"
#include "broker/proxies.h"
#include "broker/sweep.h"
#include "broker/vault.h"
#include "broker/view.h"

namespace loom::broker {

// No queue without an end: past these, a call is refused all_busy at once.
inline constexpr std::size_t kMostWaiting = 4096;
inline constexpr std::size_t kMostWaitingBytes = 64U << 20U;

// One started call. Nothing of its request is kept.
struct CallRow {
  ConnId conn = 0;
  std::uint64_t call = 0;
  StepKey step;
  Reservation reservation;
  TokenId token = 0;
  std::unique_ptr<Execution> execution;
  TimePoint started;
  std::optional<TimePoint> deadline;
  std::optional<TimePoint> cancelled;
  TimePoint arrived;  // the clear_call
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  bool caller_gone = false;
  bool has_tty = false;
  std::optional<ProxyId> proxy;
  std::uint64_t losses = 0;  // that its proxy had when it started
  std::optional<ProxyId> endpoint;
  std::string endpoint_sha256;  // of its token there
};

struct Connection {
  DoorState door;
  std::map<std::uint64_t, std::uint64_t> calls;  // running: the clear_call's id to seq
  std::uint64_t next_id = 1;                     // of frames that we originate
};

struct BrokerCore::Impl {
  explicit Impl(BrokerConfig given);

  BrokerConfig config;
  std::vector<Effect> outbox;
  Ledgers ledgers;
  Vault vault;
  LocalExecutor executor;
  Proxies proxies;
  Closing closing;
  Metrics metrics;
  std::deque<std::unique_ptr<Clearance>> queue;
  std::map<std::uint64_t, CallRow> rows;
  std::map<ConnId, Connection> connections;
  std::vector<std::pair<ConnId, std::uint64_t>> stop_askers;
  std::uint64_t next_seq = 1;
  std::uint32_t spares_left = 0;
  TimePoint booted;
  TimePoint now;
  bool verdict_logged = false;

  // broker_core.cc
  void handle(Event event);
  void settle_turn();
  void tick();
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  // broker_clients.cc
  void on_connected(const ClientConnected& event);
  void on_frame(ClientFrame event);
  void on_fault(const ClientFault& event);
  void on_request(ConnId conn, std::uint64_t id, Request request, std::string entropy);
  void forget_client(ConnId conn);
  void close_client(ConnId conn);
  void reply(ConnId conn, std::uint64_t id, ControlReply message);
  void reply_error(ConnId conn, std::uint64_t id, std::string code, std::string msg);

  // broker_requests.cc
  void request(ConnId conn, std::uint64_t id, CallStdin stdin_data);
  void request(ConnId conn, std::uint64_t id, const CallWinsize& winsize);
  void request(ConnId conn, std::uint64_t id, const CallCredit& credit);
  void request(ConnId conn, std::uint64_t id, const CallCancel& cancel);
  void request(ConnId conn, std::uint64_t id, const CallHook& hook);
  void request(ConnId conn, std::uint64_t id, const AbortOp& abort);
  void request(ConnId conn, std::uint64_t id, const AbortStep& abort);
  void request(ConnId conn, std::uint64_t id, const SnapshotRequest& snapshot);
  void request(ConnId conn, std::uint64_t id, const CensusRequest& census);
  void request(ConnId conn, std::uint64_t id, const Stop& stop);
  void request(ConnId conn, std::uint64_t id, const HeartbeatRequest& heartbeat);
  void sweep(ConnId conn, std::uint64_t id, const Sweep& sweep);
  void cancel_row(CallRow& row, StopCause by);
  [[nodiscard]] CallRow* row_of(ConnId conn, std::uint64_t call);
  [[nodiscard]] Clearance* waiting_of(ConnId conn, std::uint64_t call);

  // broker_calls.cc
  void clear_call(ConnId conn, std::uint64_t id, CallSpec spec, std::string entropy);
  enum class Attempt { kLeft, kStays };
  Attempt attempt(Clearance& clearance);
  void dispatch(Clearance& clearance);
  void refuse(Clearance& clearance, Refusal refusal);
  // Answers those of the queue for which `pick` gives a refusal; keeps the order of the others. How many left.
  template <class Pick>
  std::uint64_t refuse_waiting(Pick pick);
  [[nodiscard]] std::size_t waiting_bytes() const;
  void pump();
  void answer_failed_starts();
  void expire_waiting();
  [[nodiscard]] Refusal waited_in_vain(const Clearance& waiting) const;
  // broker_egress.cc
  void wake_waiting();
  void tell_of_egress(CallRow& row, Settlement& settlement);
  void deliver(std::uint64_t seq, ExecOut out);
  void allow_stdin(std::uint64_t seq, std::uint64_t upto);
  void note_launch(const StartGiven& given);
  void settle(std::uint64_t seq, Settlement settlement);
  [[nodiscard]] Desk desk() { return Desk{config, ledgers, vault, proxies, executor, now}; }

  // broker_close.cc
  void close(std::uint64_t drain_ms);
  void carry_out(const std::vector<ClosingEffect>& effects);
  void give_verdict();
  [[nodiscard]] Snapshot take_snapshot() const;
  void log(LogLevel level, std::string event, Map fields);
};

template <class Pick>
std::uint64_t BrokerCore::Impl::refuse_waiting(Pick pick) {
  std::uint64_t left = 0;
  std::deque<std::unique_ptr<Clearance>> kept;
  for (auto& waiting : std::exchange(queue, {})) {
    if (auto refusal = pick(*waiting)) {
      refuse(*waiting, std::move(*refusal));
      ++left;
    } else {
      kept.push_back(std::move(waiting));
    }
  }
  queue = std::move(kept);
  return left;
}

}  // namespace loom::broker
