// A call's way: cleared or queued or refused, dispatched, relayed, settled.
#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "broker/broker_state.h"
#include "policy/decode.h"

namespace loom::broker {

namespace {

std::uint64_t ms_between(TimePoint from, TimePoint to) {
  const std::int64_t ms = to_ms(to - from);
  return ms < 0 ? 0 : static_cast<std::uint64_t>(ms);
}

BudgetTerms terms_of(const CallSpec& spec) {
  return {spec.budget.max_outstanding, spec.budget.deadline_ms};
}

}  // namespace

void BrokerCore::Impl::log(LogLevel level, std::string event, Map fields) {
  outbox.push_back(LogLine{level, std::move(event), std::move(fields)});
}

void BrokerCore::Impl::clear_call(ConnId conn, std::uint64_t id, CallSpec spec, std::string entropy) {
  auto clearance = std::make_unique<Clearance>();
  clearance->conn = conn;
  clearance->call = id;
  clearance->spec = std::move(spec);
  clearance->entropy = std::move(entropy);
  clearance->arrived = now;
  clearance->must_wait = std::any_of(queue.begin(), queue.end(), [](const auto& waiting) { return !waiting->awaits; });
  if (closing.phase != ClosePhase::kServing) return refuse(*clearance, refusal(RefusalReason::kShuttingDown));
  if (attempt(*clearance) == Attempt::kLeft) return;
  clearance->spec_bytes = spec_bytes(clearance->spec);
  const bool room = queue.size() < kMostWaiting && waiting_bytes() + clearance->spec_bytes <= kMostWaitingBytes;
  if (!room || clearance->spec.waiting_ms == 0) return refuse(*clearance, waited_in_vain(*clearance));
  clearance->wait = ledgers.wait(clearance->step(), terms_of(clearance->spec), now);
  clearance->budget_deadline = ledgers.deadline(clearance->step());
  queue.push_back(std::move(clearance));
}

BrokerCore::Impl::Attempt BrokerCore::Impl::attempt(Clearance& clearance) {
  Desk here = desk();
  StageAnswer answer = clear(clearance, here);
  if (std::holds_alternative<Congested>(answer)) return Attempt::kStays;
  if (auto* no = std::get_if<Refusal>(&answer)) {
    refuse(clearance, std::move(*no));
  } else {
    dispatch(clearance);
  }
  return Attempt::kLeft;
}

void BrokerCore::Impl::dispatch(Clearance& clearance) {
  const std::uint64_t seq = next_seq++;
  const std::string token_sha256 = clearance.endpoint ? sha256_hex(endpoint_token(clearance)) : std::string();
  if (clearance.endpoint) {
    const std::string run = std::to_string(config.incarnation) + "." + std::to_string(seq);
    outbox.push_back(GrantToken{*clearance.endpoint, token_sha256, clearance.spec.caller, run});
  }
  Dispatch order = make_dispatch(clearance, desk(), seq);
  // As composed: where the broker's own proxy has its socket is no part of it.
  CallStarted started{{config.incarnation, seq}, encode_policy(clearance.composed->policy), {}};
  for (const Narrowing& narrowing : clearance.composed->narrowings) {
    started.narrowings.push_back(encode_narrowing(narrowing));
  }
  order.deliver = [this, seq](ExecOut out) { deliver(seq, std::move(out)); };
  order.allow_stdin = [this, seq](std::uint64_t upto) { allow_stdin(seq, upto); };
  order.settle = [this, seq](Settlement settlement) { settle(seq, std::move(settlement)); };

  CallRow row{clearance.conn,
              clearance.call,
              clearance.step(),
              *clearance.reservation,
              *clearance.token,
              {},
              now,
              order.deadline,
              {},
              clearance.arrived,
              0,
              0,
              false,
              clearance.spec.tty.has_value(),
              clearance.proxy,
              clearance.proxy ? proxies.losses_of(*clearance.proxy) : 0,
              clearance.endpoint,
              token_sha256};
  if (order.budget_deadline && (!row.deadline || *order.budget_deadline < *row.deadline)) {
    row.deadline = order.budget_deadline;
  }
  auto result = executor.start(std::move(order), now);
  if (std::holds_alternative<StartRefusal>(result)) {
    // The lease went with the attempt; the rest is still held here.
    clearance.lease.reset();
    if (clearance.endpoint) outbox.push_back(RevokeToken{*clearance.endpoint, token_sha256});
    Desk here = desk();
    give_back(clearance, here);
    return refuse(clearance, refusal(RefusalReason::kPoolUnavailable));
  }
  row.execution = std::move(std::get<std::unique_ptr<Execution>>(result));
  if (clearance.wait) ledgers.release(*clearance.wait);
  ++metrics.starts;
  connections[clearance.conn].calls.emplace(clearance.call, seq);
  Execution& execution = *row.execution;
  rows.emplace(seq, std::move(row));
  reply(clearance.conn, clearance.call, std::move(started));

  if (!clearance.early_stdin.empty() || clearance.early_eof) {
    (void)execution.stdin_data(std::move(clearance.early_stdin), clearance.early_eof, now);
  }
  execution.credit(Stream::kStdout, clearance.early_stdout_upto, now);
  execution.credit(Stream::kStderr, clearance.early_stderr_upto, now);
}

void BrokerCore::Impl::refuse(Clearance& clearance, Refusal no) {
  if (clearance.wait) ledgers.release(*clearance.wait);
  clearance.wait.reset();
  wipe(clearance.entropy);
  const bool gone = !connections.contains(clearance.conn);
  if (gone) {
    ++metrics.vanished;
  } else {
    ++metrics.refused[static_cast<std::size_t>(no.reason)];
  }
  const Value reason = gone ? Value("caller_gone") : Value(to_text(no.reason));
  log(LogLevel::kInfo, "call.refused", {{"reason", reason}, {"waited_ms", ms_between(clearance.arrived, now)}});
  reply(clearance.conn, clearance.call, to_message(std::move(no)));
}

std::size_t BrokerCore::Impl::waiting_bytes() const {
  std::size_t sum = 0;
  for (const auto& waiting : queue) sum += waiting->spec_bytes + waiting->early_stdin.size();
  return sum;
}

// In the order of arrival; whoever finds no slot keeps the place at the head. Who waits for a proxy holds up nobody.
void BrokerCore::Impl::pump() {
  for (std::size_t i = 0; i < queue.size();) {
    Clearance& next = *queue[i];
    next.must_wait = false;
    if (next.awaits) {
      ++i;
    } else if (attempt(next) == Attempt::kLeft) {
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (!next.awaits) {
      return;
    }
  }
}

// Congestion is not a verdict: while a live helper can serve the queue, a failed start is only logged.
void BrokerCore::Impl::answer_failed_starts() {
  for (Map& detail : executor.take_failed_starts()) {
    if (closing.phase != ClosePhase::kServing) continue;
    Value why;
    for (const Member& member : detail) {
      if (member.first == "detail") why = member.second;
    }
    log(LogLevel::kWarning, "helper.start_failed", {{"reason", to_text(RefusalReason::kSpawnFailed)}, {"why", why}});
    if (executor.any_live() || queue.empty()) continue;
    const auto head = std::move(queue.front());
    queue.pop_front();
    refuse(*head, spawn_failed(std::move(detail)));
  }
}

// At the end of its waiting time, which may be none.
Refusal BrokerCore::Impl::waited_in_vain(const Clearance& waiting) const {
  if (waiting.awaits) return egress_unavailable("the egress proxy was not ready within the call's waiting time");
  return all_busy(executor.pool().size(), ms_between(waiting.arrived, now));
}

void BrokerCore::Impl::expire_waiting() {
  refuse_waiting([&](const Clearance& waiting) -> std::optional<Refusal> {
    const auto& deadline = waiting.budget_deadline;
    if (deadline && *deadline <= now) return refusal(RefusalReason::kDeadlinePassed);
    if (waiting.leaves_at() > now) return std::nullopt;
    return waited_in_vain(waiting);
  });
}

void BrokerCore::Impl::deliver(std::uint64_t seq, ExecOut out) {
  const auto at = rows.find(seq);
  if (at == rows.end()) return;
  CallRow& row = at->second;
  (out.stream == Stream::kStdout ? row.stdout_bytes : row.stderr_bytes) = out.bytes;
  reply(row.conn, row.call, CallOutput{out.stream, std::move(out.data), out.bytes, out.truncated});
}

void BrokerCore::Impl::allow_stdin(std::uint64_t seq, std::uint64_t upto) {
  const auto at = rows.find(seq);
  if (at == rows.end()) return;
  const auto connection = connections.find(at->second.conn);
  if (connection == connections.end()) return;
  reply(at->second.conn, connection->second.next_id++, CallCredit{at->second.call, Stream::kStdin, upto});
}

// From a call's arrival until its exec_start was given to a helper: what it waited, and what clearing it took.
void BrokerCore::Impl::note_launch(const StartGiven& given) {
  const auto seq = executor.seq_of(given.helper, given.id);
  const auto row = seq ? rows.find(*seq) : rows.end();
  if (row == rows.end()) return;
  const std::int64_t us = (given.at - row->second.arrived).count() / 1000;
  metrics.launch_us.push(us < 0 ? 0 : static_cast<std::uint64_t>(us));
}

void BrokerCore::Impl::settle(std::uint64_t seq, Settlement settlement) {
  auto node = rows.extract(seq);
  if (node.empty()) return;
  CallRow& row = node.mapped();
  tell_of_egress(row, settlement);
  SettledView view = view_of(seq, settlement);
  view.ms = ms_between(row.started, now);
  view.bytes = row.stdout_bytes + row.stderr_bytes;
  metrics.record(view, now - row.started, row.cancelled ? std::optional(now - *row.cancelled) : std::nullopt);
  const bool exited = view.outcome == SettledClass::kExited;
  log(exited ? LogLevel::kInfo : LogLevel::kWarning, "call.settled", encode_settled(config.incarnation, view));

  vault.settle(row.token);
  ledgers.release(row.reservation);
  if (row.proxy) proxies.give_back(*row.proxy, now);
  if (row.endpoint) {
    outbox.push_back(RevokeToken{*row.endpoint, row.endpoint_sha256});
    proxies.give_back(*row.endpoint, now);
  }
  if (!row.caller_gone) reply(row.conn, row.call, to_message(std::move(settlement)));
  if (const auto at = connections.find(row.conn); at != connections.end()) at->second.calls.erase(row.call);
  row.execution->release(now);
}

}  // namespace loom::broker
