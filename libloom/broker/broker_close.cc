// Closing, and the value an operator is shown.
#include <utility>

#include "broker/broker_state.h"

namespace loom::broker {

void BrokerCore::Impl::close(std::uint64_t drain_ms) {
  carry_out(loom::broker::step(closing, closing_event::Close{drain_ms}, now));
}

void BrokerCore::Impl::carry_out(const std::vector<ClosingEffect>& effects) {
  for (const ClosingEffect effect : effects) {
    switch (effect) {
      case ClosingEffect::kCancelAll:
        refuse_waiting([](const Clearance&) { return std::optional(refusal(RefusalReason::kShuttingDown)); });
        for (auto& [seq, row] : rows) cancel_row(row, StopCause::kClosing);
        break;
      case ClosingEffect::kLoseRest:
        executor.lose_all(now);
        break;
      case ClosingEffect::kRetireHelpers:
        proxies.close();
        executor.close_helpers(now);
        break;
      case ClosingEffect::kGiveVerdict:
        give_verdict();
        break;
    }
  }
}

void BrokerCore::Impl::give_verdict() {
  const Closed verdict = closing.verdict;
  if (!std::exchange(verdict_logged, true)) {
    Map fields{{"clean", verdict.clean}, {"unconfirmed", verdict.unconfirmed}};
    if (!verdict.clean) fields.emplace_back("reason", "unconfirmed");
    log(verdict.clean ? LogLevel::kInfo : LogLevel::kWarning, "broker.closed", std::move(fields));
  }
  for (const auto& [conn, id] : std::exchange(stop_askers, {})) {
    reply(conn, id, Ok{Map{{"clean", verdict.clean}, {"unconfirmed", verdict.unconfirmed}}});
  }
  outbox.push_back(verdict);
}

Snapshot BrokerCore::Impl::take_snapshot() const {
  const auto ms = [](Duration d) { return static_cast<std::uint64_t>(d.count() < 0 ? 0 : to_ms(d)); };
  Snapshot out;
  out.incarnation = config.incarnation;
  out.phase = to_text(closing.phase);
  out.uptime_ms = ms(now - booted);
  for (const auto& [seq, row] : rows) {
    LiveView live{seq,
                  executor.view(seq).value_or(ExecutionView{}),
                  ms(now - row.started),
                  {},
                  row.stdout_bytes,
                  row.stderr_bytes};
    if (row.deadline) live.deadline_in_ms = ms(*row.deadline - now);
    out.live.push_back(live);
  }
  out.pool = executor.pool().counts();
  out.helpers = executor.helper_views();
  out.waiting = queue.size();
  if (!queue.empty()) out.oldest_ms = ms(now - queue.front()->arrived);
  out.executions = executor.executions();
  out.outstanding = ledgers.outstanding();
  out.ledgers = ledgers.size();
  out.tokens = vault.size();
  out.proxies = proxies.views();
  out.egress_refusals = proxies.refusals();
  return out;
}

}  // namespace loom::broker
