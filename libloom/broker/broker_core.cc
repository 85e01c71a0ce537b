#include "broker/broker_core.h"

#include <algorithm>
#include <utility>

#include "broker/broker_state.h"
#include "broker/instant.h"

namespace loom::broker {

BrokerCore::Impl::Impl(BrokerConfig given)
    : config(std::move(given)), executor(config, outbox), proxies(config.jail_dir, outbox) {}

BrokerCore::BrokerCore(BrokerConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
BrokerCore::~BrokerCore() = default;
BrokerCore::BrokerCore(BrokerCore&& other) noexcept = default;
BrokerCore& BrokerCore::operator=(BrokerCore&& other) noexcept = default;

namespace {

struct Handler {
  BrokerCore::Impl& core;

  void helper(HelperId id, HelperEvent event) const { core.executor.helper(id, std::move(event), core.now); }

  void operator()(Boot&) const {
    core.booted = core.now;
    core.spares_left = core.config.spare_helpers;
    core.log(LogLevel::kInfo, "broker.started",
             {{"incarnation", core.config.incarnation}, {"slots", core.config.pool_size}});
  }
  void operator()(ClientConnected& event) const { core.on_connected(event); }
  void operator()(ClientFrame& event) const { core.on_frame(std::move(event)); }
  void operator()(ClientRequest& event) const {
    core.on_request(event.conn, event.id, std::move(event.request), std::move(event.entropy));
  }
  void operator()(ClientFault& event) const { core.on_fault(event); }
  void operator()(ClientVanished& event) const { core.forget_client(event.conn); }
  void operator()(CloseRequested& event) const { core.close(event.drain_ms.value_or(core.config.drain_ms)); }
  void operator()(HelperSpawned& event) const { helper(event.helper, helper_event::Spawned{event.pid}); }
  void operator()(HelperSpawnFailed& event) const {
    helper(event.helper, helper_event::SpawnFailed{event.error.text()});
  }
  void operator()(HelperFrame& event) const { helper(event.helper, helper_event::FrameIn{std::move(event.frame)}); }
  void operator()(HelperOutput& event) const {
    helper(event.helper, helper_event::OutIn{event.id, std::move(event.out)});
  }
  void operator()(HelperFault& event) const {
    helper(event.helper, helper_event::Fault{std::move(event.error), event.ended});
  }
  void operator()(HelperEof& event) const { helper(event.helper, helper_event::Eof{}); }
  void operator()(HelperExited& event) const {
    core.executor.exited(event.helper, event.signalled, event.number, event.orphans, core.now);
  }
  void operator()(StartGiven& event) const { core.note_launch(event); }
  void operator()(OrphanReaped& event) const { core.executor.orphan_reaped(event.pid, core.now); }
  void operator()(ProxySpawned& event) const { core.proxies.spawned(event.proxy, event.pid); }
  void operator()(ProxyReady& event) const { core.proxies.ready(event.proxy, core.now); }
  void operator()(ProxyEnded& event) const { core.proxies.ended(event.proxy, event.how, core.now); }
  void operator()(const ProxyRefusals& event) const { core.proxies.refused(event.proxy, event.refusals); }
  void operator()(Tick&) const { core.tick(); }
};

}  // namespace

void BrokerCore::Impl::handle(Event event) {
  std::visit(Handler{*this}, event);
}

void BrokerCore::Impl::tick() {
  executor.tick(now);
  proxies.tick(now);
  expire_waiting();
  std::vector<ConnId> silent;
  for (const auto& [conn, connection] : connections) {
    if (connection.door.hello_due && *connection.door.hello_due <= now) silent.push_back(conn);
  }
  for (const ConnId conn : silent) {
    reply_error(conn, 0, "protocol_violation", "no hello within 5 s");
    close_client(conn);
  }
  carry_out(loom::broker::step(closing, closing_event::Due{executor.pool().reserved()}, now));
}

// What follows from a turn, until nothing more does: failed starts are answered, freed slots lent, a close moves on.
void BrokerCore::Impl::settle_turn() {
  wake_waiting();
  answer_failed_starts();
  while (executor.take_freed()) {
    pump();
    answer_failed_starts();
  }
  if (spares_left > 0 && closing.phase == ClosePhase::kServing && !executor.pool().starting()) {
    --spares_left;
    executor.start_spare(now);
  }
  if (rows.empty()) carry_out(loom::broker::step(closing, closing_event::CallsGone{}, now));
  if (executor.pool().helpers().empty()) carry_out(loom::broker::step(closing, closing_event::HelpersGone{}, now));
}

std::optional<TimePoint> BrokerCore::Impl::next_deadline() const {
  std::optional<TimePoint> next = earlier(executor.next_deadline(), closing.due);
  next = earlier(next, proxies.next_deadline());
  for (const auto& waiting : queue) {
    next = earlier(next, earlier(waiting->leaves_at(), waiting->budget_deadline));
  }
  for (const auto& [conn, connection] : connections) next = earlier(next, connection.door.hello_due);
  return next;
}

std::vector<Effect> BrokerCore::step(Event event, TimePoint now) {
  impl_->now = now;
  impl_->handle(std::move(event));
  impl_->settle_turn();
  return std::exchange(impl_->outbox, {});
}

std::optional<TimePoint> BrokerCore::next_deadline() const {
  return impl_->next_deadline();
}

std::uint32_t pool_size_for(std::uint32_t processors) {
  return std::clamp<std::uint32_t>(processors, 4, 16);
}

}  // namespace loom::broker
