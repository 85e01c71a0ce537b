#include "broker/local_executor.h"

#include <algorithm>
#include <utility>

#include "broker/instant.h"

namespace loom::broker {

namespace {

// After a failed start, while other helpers serve: how long before another is tried.
constexpr Duration kSpawnPause = seconds(1);
const Report kNoFeatures;

// A helper chooses its features; an observer's value is bounded whatever it chose.
Report bounded(Report features) {
  constexpr std::size_t kMostFeatures = 64;
  constexpr std::size_t kLongestFeature = 256;
  if (features.size() > kMostFeatures) features.resize(kMostFeatures);
  for (std::string& feature : features) {
    if (feature.size() > kLongestFeature) feature.resize(kLongestFeature);
  }
  return features;
}

}  // namespace

// The broker's only way to an execution. It names the run; a run that is gone makes every call a no-op.
class LocalExecutor::Handle : public Execution {
 public:
  Handle(LocalExecutor& owner, ExecutionId id, HelperId helper, StartId start)
      : owner_(owner), id_(id), helper_(helper), start_(start) {}

  [[nodiscard]] ExecutionId id() const override { return id_; }
  void cancel(StopCause by, TimePoint now) override {
    owner_.run_event(id_.seq, execution_event::CancelRequested{by}, now);
  }
  void caller_down(TimePoint now) override { owner_.run_event(id_.seq, execution_event::CallerDown{}, now); }
  void credit(Stream stream, std::uint64_t upto, TimePoint now) override {
    owner_.run_event(id_.seq, execution_event::Credit{stream, upto}, now);
  }
  void resize(TtySize size, TimePoint now) override {
    if (owner_.find(id_.seq) != nullptr) owner_.helper(helper_, helper_event::Resize{start_, size}, now);
  }
  StdinAnswer stdin_data(std::string data, bool eof, TimePoint now) override {
    if (owner_.find(id_.seq) == nullptr) return StdinAnswer::kEnded;
    const auto helper = owner_.helpers_.find(helper_);
    if (helper == owner_.helpers_.end()) return StdinAnswer::kEnded;
    const auto runner = helper->second.runners.find(start_);
    if (runner == helper->second.runners.end() || runner->second.stdin_eof) return StdinAnswer::kEnded;
    if (data.size() > runner->second.stdin_upto - runner->second.stdin_bytes) return StdinAnswer::kPastCredit;
    owner_.helper(helper_, helper_event::SendStdin{start_, std::move(data), eof}, now);
    return StdinAnswer::kTaken;
  }
  void release(TimePoint now) override { owner_.release(id_.seq, now); }
  void abandon(TimePoint now) override {
    owner_.helper(helper_, helper_event::CancelRun{start_}, now);
    owner_.release(id_.seq, now);
  }

 private:
  LocalExecutor& owner_;
  ExecutionId id_;
  HelperId helper_;
  StartId start_;
};

LocalExecutor::LocalExecutor(const BrokerConfig& config, std::vector<Effect>& outbox)
    : config_(config), outbox_(outbox), pool_(config.pool_size, config.per_helper) {}
LocalExecutor::~LocalExecutor() = default;

LocalExecutor::Run* LocalExecutor::find(std::uint64_t seq) {
  const auto at = runs_.find(seq);
  return at == runs_.end() ? nullptr : &at->second;
}

std::optional<std::uint64_t> LocalExecutor::seq_of(HelperId id, StartId start) const {
  const auto at = by_start_.find({id, start});
  return at == by_start_.end() ? std::nullopt : std::optional(at->second);
}

void LocalExecutor::order_spawn(bool force, TimePoint now) {
  if (spawn_again_ && now < *spawn_again_) return;
  spawn_again_.reset();
  const auto order = pool_.order_spawn(force);
  if (!order) return;
  HelperCore core;
  core.id = order->helper;
  core.local = config_.local_helpers;
  core.heartbeat = config_.heartbeat;
  core.peer = config_.peer;
  (void)step(core, helper_event::Begin{}, now);
  helpers_.emplace(order->helper, std::move(core));
  outbox_.push_back(SpawnHelper{order->helper, order->block});
}

void LocalExecutor::start_spare(TimePoint now) {
  order_spawn(true, now);
}

std::variant<Lease, NoSlot> LocalExecutor::borrow(TimePoint now) {
  auto answer = pool_.borrow();
  const auto* none = std::get_if<NoSlot>(&answer);
  if (none != nullptr && *none == NoSlot::kCongested) order_spawn(false, now);
  return answer;
}

void LocalExecutor::give_back(const Lease& lease, TimePoint now) {
  pool_.give_back(lease, Pool::Work::kEnded, now);
  retire_withdrawn(now);
  freed_ = true;
}

const Report& LocalExecutor::features(const Lease& lease) const {
  const auto at = helpers_.find(lease.helper);
  return at == helpers_.end() ? kNoFeatures : at->second.hello.features;
}

std::variant<std::unique_ptr<Execution>, StartRefusal> LocalExecutor::start(Dispatch dispatch, TimePoint now) {
  if (runs_.contains(dispatch.seq) || !pool_.begin(dispatch.lease)) return StartRefusal::kStaleLease;
  const HelperId id = dispatch.lease.helper;
  HelperCore& helper = helpers_.at(id);
  auto started = loom::broker::start(helper, std::move(dispatch.request));
  if (!started) {
    give_back(dispatch.lease, now);
    return StartRefusal::kHelperGone;
  }
  Run run;
  run.core.expected = expectation_of(dispatch.policy, helper.hello.features, dispatch.demand);
  run.lease = dispatch.lease;
  run.start = started->id;
  run.deadline = dispatch.deadline;
  run.budget_deadline = dispatch.budget_deadline;
  run.deliver = std::move(dispatch.deliver);
  run.allow_stdin = std::move(dispatch.allow_stdin);
  run.settle = std::move(dispatch.settle);
  runs_.emplace(dispatch.seq, std::move(run));
  by_start_.emplace(std::pair(id, started->id), dispatch.seq);
  outbox_.push_back(SendToHelper{id, started->send.id, std::move(started->send.message)});
  if (!dispatch.feeds_stdin) this->helper(id, helper_event::SendStdin{started->id, {}, true}, now);
  return std::make_unique<Handle>(*this, ExecutionId{config_.incarnation, dispatch.seq}, id, started->id);
}

void LocalExecutor::release(std::uint64_t seq, TimePoint now) {
  const auto at = runs_.find(seq);
  if (at == runs_.end()) return;
  const Lease lease = at->second.lease;
  const StartId start = at->second.start;
  runs_.erase(at);
  by_start_.erase({lease.helper, start});
  const auto helper = helpers_.find(lease.helper);
  const bool live = helper != helpers_.end() && helper->second.runners.contains(start);
  pool_.give_back(lease, live ? Pool::Work::kLive : Pool::Work::kEnded, now);
  retire_withdrawn(now);
  freed_ = true;
}

void LocalExecutor::run_event(std::uint64_t seq, ExecutionEvent event, TimePoint now) {
  Run* run = find(seq);
  if (run == nullptr) return;
  for (ExecutionEffect& effect : step(run->core, std::move(event))) carry_out(seq, effect, now);
}

void LocalExecutor::carry_out(std::uint64_t seq, ExecutionEffect& effect, TimePoint now) {
  Run* run = find(seq);
  if (run == nullptr) return;
  const HelperId id = run->lease.helper;
  if (auto* deliver = std::get_if<execution_effect::Deliver>(&effect)) {
    run->deliver(std::move(deliver->out));
  } else if (std::holds_alternative<execution_effect::SendCancel>(effect)) {
    helper(id, helper_event::CancelRun{run->start}, now);
  } else if (const auto* credit = std::get_if<execution_effect::SendCredit>(&effect)) {
    helper(id, helper_event::GrantOutput{run->start, credit->stream, credit->upto}, now);
  } else if (std::holds_alternative<execution_effect::EnterDraining>(effect)) {
    run->grace_due = now + kDrainGrace;
    run->deadline.reset();
    run->budget_deadline.reset();
  } else if (auto* settle = std::get_if<execution_effect::Settle>(&effect)) {
    // Taken out first: the receiver releases the run from inside the call.
    const auto report = std::move(run->settle);
    report(std::move(settle->settlement));
  }
}

void LocalExecutor::helper(HelperId id, HelperEvent event, TimePoint now) {
  const auto at = helpers_.find(id);
  if (at == helpers_.end()) return;
  std::vector<HelperEffect> effects = step(at->second, std::move(event), now);
  for (HelperEffect& effect : effects) carry_out(id, effect, now);
}

void LocalExecutor::carry_out(HelperId id, HelperEffect& effect, TimePoint now) {
  const auto run = [&](StartId start, ExecutionEvent event) {
    if (const auto seq = seq_of(id, start)) run_event(*seq, std::move(event), now);
  };
  struct Visitor {
    LocalExecutor& self;
    HelperId id;
    TimePoint now;
    const decltype(run)& on_run;

    void operator()(helper_effect::Send& e) const {
      self.outbox_.push_back(SendToHelper{id, e.id, std::move(e.message)});
    }
    void operator()(helper_effect::Kill&) const { self.outbox_.push_back(KillHelper{id}); }
    void operator()(helper_effect::KillOrphan& e) const { self.outbox_.push_back(KillOrphan{e.pid}); }
    void operator()(helper_effect::Ready&) const {
      const HelperCore& core = self.helpers_.at(id);
      self.newest_hello_ = {core.hello.proto, core.hello.peer.substr(0, 256), bounded(core.hello.features), 0};
      self.pool_.hello(id, static_cast<std::uint32_t>(core.hello.capacity), now);
      self.freed_ = true;
    }
    void operator()(helper_effect::Output& e) const { on_run(e.id, execution_event::Output{std::move(e.out)}); }
    void operator()(helper_effect::Exit& e) const { on_run(e.id, execution_event::Exited{std::move(e.exit)}); }
    void operator()(helper_effect::Failed& e) const { on_run(e.id, execution_event::Failed{std::move(e.failure)}); }
    void operator()(helper_effect::Down& e) const { on_run(e.id, execution_event::HelperDown{e.witnessed}); }
    void operator()(helper_effect::StdinAllowed& e) const {
      const auto seq = self.seq_of(id, e.id);
      Run* found = seq ? self.find(*seq) : nullptr;
      if (found != nullptr && !found->core.settled && !found->core.caller_gone) found->allow_stdin(e.upto);
    }
    void operator()(helper_effect::NeverLive& e) const {
      self.pool_.lost(id);
      if (self.any_live()) self.spawn_again_ = now + kSpawnPause;
      self.failed_starts_.push_back(std::move(e.detail));
      self.freed_ = true;
    }
    void operator()(helper_effect::Leaving&) const { self.pool_.lost(id); }
    void operator()(helper_effect::Died& e) const {
      self.pool_.lost(id);
      if (e.asked) return;
      self.outbox_.push_back(
          LogLine{LogLevel::kWarning, "helper.died", {{"helper", id}, {"reason", "helper_died"}, {"why", e.why}}});
    }
    void operator()(helper_effect::Proved&) const {
      self.pool_.proved(id);
      self.helpers_.erase(id);
      self.outbox_.push_back(LogLine{LogLevel::kInfo, "helper.retired", {{"helper", id}}});
      self.freed_ = true;
    }
    void operator()(helper_effect::Unproved& e) const {
      const std::string reason(to_text(e.reason));
      self.pool_.unconfirmed(id, reason + ": " + e.why);
      self.outbox_.push_back(
          LogLine{LogLevel::kWarning, "helper.unconfirmed", {{"helper", id}, {"reason", reason}, {"why", e.why}}});
      self.freed_ = true;
    }
  };
  std::visit(Visitor{*this, id, now, run}, effect);
}

void LocalExecutor::retire_withdrawn(TimePoint now) {
  for (const HelperId id : pool_.take_retirements()) helper(id, helper_event::Retire{}, now);
}

// An orphan first seen within the witness of this death may be its own; an older one belongs to a death before.
void LocalExecutor::exited(HelperId id, bool signalled, int number, const std::vector<Pid>& orphans, TimePoint now) {
  helper_event::Exited event{signalled, number, {}};
  for (const Pid pid : orphans) {
    const auto at = orphans_.try_emplace(pid, Orphan{now}).first;
    if (at->second.seen + kWitness > now) event.orphans.push_back(pid);
  }
  helper(id, std::move(event), now);
}

void LocalExecutor::orphan_reaped(Pid pid, TimePoint now) {
  orphans_.erase(pid);
  std::vector<HelperId> ids;
  for (const auto& [id, core] : helpers_) ids.push_back(id);
  for (const HelperId id : ids) helper(id, helper_event::OrphanGone{pid}, now);
}

void LocalExecutor::check_run(std::uint64_t seq, TimePoint now) {
  const auto due = [&](std::optional<TimePoint> Run::*timer) {
    Run* run = find(seq);
    if (run == nullptr || !(run->*timer) || *(run->*timer) > now) return false;
    (run->*timer).reset();
    return true;
  };
  if (due(&Run::deadline)) run_event(seq, execution_event::DeadlineReached{StopCause::kDeadline}, now);
  if (due(&Run::budget_deadline)) run_event(seq, execution_event::DeadlineReached{StopCause::kBudget}, now);
  if (due(&Run::grace_due)) run_event(seq, execution_event::GraceExpired{}, now);
}

// Helpers first: their verdict on an ignored cancel is the better one than the backstop's.
void LocalExecutor::tick(TimePoint now) {
  std::vector<HelperId> ids;
  for (const auto& [id, core] : helpers_) ids.push_back(id);
  for (const HelperId id : ids) helper(id, helper_event::Timer{}, now);
  std::vector<std::uint64_t> seqs;
  for (const auto& [seq, run] : runs_) seqs.push_back(seq);
  for (const std::uint64_t seq : seqs) check_run(seq, now);
  pool_.tick(now);
  retire_withdrawn(now);
  if (spawn_again_ && *spawn_again_ <= now) {
    spawn_again_.reset();
    freed_ = true;
  }
}

std::optional<TimePoint> LocalExecutor::next_deadline() const {
  std::optional<TimePoint> next = earlier(pool_.next_deadline(), spawn_again_);
  for (const auto& [id, core] : helpers_) next = earlier(next, loom::broker::next_deadline(core));
  for (const auto& [seq, run] : runs_) {
    next = earlier(next, earlier(run.deadline, run.budget_deadline));
    next = earlier(next, run.grace_due);
  }
  return next;
}

void LocalExecutor::lose_all(TimePoint now) {
  std::vector<std::uint64_t> seqs;
  for (const auto& [seq, run] : runs_) seqs.push_back(seq);
  for (const std::uint64_t seq : seqs) {
    run_event(seq, execution_event::Failed{execution_lost(LossCause::kBrokerClosing)}, now);
  }
}

void LocalExecutor::close_helpers(TimePoint now) {
  pool_.close();
  retire_withdrawn(now);
}

bool LocalExecutor::any_live() const {
  const auto& all = pool_.helpers();
  return std::any_of(all.begin(), all.end(), [](const auto& entry) { return entry.second.custody == Custody::kLive; });
}

std::optional<ExecutionView> LocalExecutor::view(std::uint64_t seq) const {
  const auto at = runs_.find(seq);
  if (at == runs_.end()) return std::nullopt;
  return ExecutionView{at->second.lease.helper, at->second.core.mode, at->second.core.stop};
}

std::vector<HelperView> LocalExecutor::helper_views() const {
  std::vector<HelperView> out;
  for (const auto& [id, entry] : pool_.helpers()) {
    HelperView view{id, 0, {}, entry.quota, static_cast<std::uint32_t>(entry.leases.size()), entry.custody, entry.why};
    if (const auto at = helpers_.find(id); at != helpers_.end()) {
      view.pid = at->second.pid;
      view.features = bounded(at->second.hello.features);
    }
    out.push_back(std::move(view));
  }
  return out;
}

}  // namespace loom::broker
