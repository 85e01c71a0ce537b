// The Dispatcher over helpers of this machine: pool, helper cores and execution cores tied together. Pure: what it
// wants of the outside is appended to an outbox, in order. Ownership: owns every helper's core and every execution
// until release() or abandon(). The outbox is borrowed and must outlive it. Carries out: spec/broker.md "Helpers and
// the pool", "The execution core".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "broker/broker_core.h"
#include "broker/dispatcher.h"
#include "broker/event.h"
#include "broker/execution.h"
#include "broker/helper.h"
#include "broker/pool.h"

namespace loom::broker {

// What an observer may know of one execution: nothing of its request.
struct ExecutionView {
  HelperId helper = 0;
  Mode mode = Mode::kStreaming;
  StopCause stop = StopCause::kNone;
};

// What an observer may know of one helper.
struct HelperView {
  HelperId ordinal = 0;
  Pid pid = 0;
  std::vector<std::string> features;
  std::uint32_t quota = 0;
  std::uint32_t lent = 0;
  Custody custody = Custody::kStarting;
  std::string why;
};

class LocalExecutor : public Dispatcher {
 public:
  LocalExecutor(const BrokerConfig& config, std::vector<Effect>& outbox);
  ~LocalExecutor() override;
  LocalExecutor(const LocalExecutor&) = delete;
  LocalExecutor& operator=(const LocalExecutor&) = delete;

  [[nodiscard]] std::variant<Lease, NoSlot> borrow(TimePoint now) override;
  void give_back(const Lease& lease, TimePoint now) override;
  [[nodiscard]] const Report& features(const Lease& lease) const override;
  [[nodiscard]] std::variant<std::unique_ptr<Execution>, StartRefusal> start(Dispatch dispatch, TimePoint now) override;

  // Starts one spare helper if slots are left; at most one helper starts at a time.
  void start_spare(TimePoint now);
  void helper(HelperId id, HelperEvent event, TimePoint now);
  // A helper's status, with every child of the broker that is no helper.
  void exited(HelperId id, bool signalled, int number, const std::vector<Pid>& orphans, TimePoint now);
  void orphan_reaped(Pid pid, TimePoint now);
  void tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  // Closing: what has not settled is lost; then every helper is asked to end.
  void lose_all(TimePoint now);
  void close_helpers(TimePoint now);

  // Since the last call: slots or helpers changed, so that the queue's head is worth another attempt.
  [[nodiscard]] bool take_freed() { return std::exchange(freed_, false); }
  // Handshakes that failed since the last call: each is a waiter's spawn_failed, unless a live helper can serve it.
  [[nodiscard]] std::vector<Map> take_failed_starts() { return std::exchange(failed_starts_, {}); }
  [[nodiscard]] bool any_live() const;

  [[nodiscard]] std::optional<ExecutionView> view(std::uint64_t seq) const;
  [[nodiscard]] std::vector<HelperView> helper_views() const;
  [[nodiscard]] const Pool& pool() const { return pool_; }
  [[nodiscard]] std::size_t executions() const { return runs_.size(); }
  [[nodiscard]] const ExecHello& newest_hello() const { return newest_hello_; }

  [[nodiscard]] std::optional<std::uint64_t> seq_of(HelperId id, StartId start) const;

 private:
  class Handle;
  struct Run {
    ExecutionCore core;
    Lease lease;
    StartId start = 0;
    std::optional<TimePoint> deadline;
    std::optional<TimePoint> budget_deadline;
    std::optional<TimePoint> grace_due;
    std::function<void(ExecOut)> deliver;
    std::function<void(std::uint64_t)> allow_stdin;
    std::function<void(Settlement)> settle;
  };
  struct Orphan {
    TimePoint seen;
  };

  void order_spawn(bool force, TimePoint now);
  void run_event(std::uint64_t seq, ExecutionEvent event, TimePoint now);
  void carry_out(std::uint64_t seq, ExecutionEffect& effect, TimePoint now);
  void carry_out(HelperId id, HelperEffect& effect, TimePoint now);
  void retire_withdrawn(TimePoint now);
  void check_run(std::uint64_t seq, TimePoint now);
  void release(std::uint64_t seq, TimePoint now);
  Run* find(std::uint64_t seq);

  const BrokerConfig& config_;
  std::vector<Effect>& outbox_;
  Pool pool_;
  std::map<HelperId, HelperCore> helpers_;
  std::map<std::uint64_t, Run> runs_;
  std::map<std::pair<HelperId, StartId>, std::uint64_t> by_start_;
  std::map<Pid, Orphan> orphans_;
  std::vector<Map> failed_starts_;
  std::optional<TimePoint> spawn_again_;  // not before: the last start failed while others serve
  ExecHello newest_hello_;
  bool freed_ = false;
};

}  // namespace loom::broker
