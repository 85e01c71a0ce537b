#include "broker/budget.h"

#include <algorithm>

#include "broker/instant.h"

namespace loom::broker {

Ledgers::Ledger& Ledgers::open(const StepKey& key, const BudgetTerms& terms, TimePoint now) {
  const auto [at, fresh] = ledgers_.try_emplace(key);
  Ledger& ledger = at->second;
  if (!fresh) return ledger;
  ledger.generation = next_generation_++;
  ledger.max = std::max<std::uint64_t>(terms.max_outstanding, 1);
  if (terms.deadline_ms != 0) ledger.deadline = after_ms(now, terms.deadline_ms);
  return ledger;
}

std::variant<Reservation, BudgetExhausted, DeadlinePassed> Ledgers::reserve(const StepKey& key,
                                                                            const BudgetTerms& terms, TimePoint now) {
  Ledger& ledger = open(key, terms, now);
  if (ledger.deadline && *ledger.deadline <= now) return DeadlinePassed{};
  if (ledger.outstanding >= ledger.max) return BudgetExhausted{ledger.outstanding, ledger.max};
  ++ledger.outstanding;
  return Reservation{{key, ledger.generation}};
}

Wait Ledgers::wait(const StepKey& key, const BudgetTerms& terms, TimePoint now) {
  Ledger& ledger = open(key, terms, now);
  ++ledger.waiting;
  return Wait{{key, ledger.generation}};
}

void Ledgers::release(const Reservation& reservation) {
  give_back(reservation, &Ledger::outstanding);
}
void Ledgers::release(const Wait& wait) {
  give_back(wait, &Ledger::waiting);
}

void Ledgers::give_back(const LedgerHold& hold, std::uint64_t Ledger::*count) {
  const auto at = ledgers_.find(hold.key);
  if (at == ledgers_.end() || at->second.generation != hold.generation) return;
  Ledger& ledger = at->second;
  if (ledger.*count > 0) --(ledger.*count);
  if (ledger.outstanding == 0 && ledger.waiting == 0) ledgers_.erase(at);
}

void Ledgers::sweep_op(std::string_view op_id) {
  std::erase_if(ledgers_, [&](const auto& entry) { return entry.first.op_id == op_id; });
}
void Ledgers::sweep_step(const StepKey& key) {
  ledgers_.erase(key);
}

std::optional<TimePoint> Ledgers::deadline(const StepKey& key) const {
  const auto at = ledgers_.find(key);
  return at == ledgers_.end() ? std::nullopt : at->second.deadline;
}

std::uint64_t Ledgers::outstanding() const {
  std::uint64_t sum = 0;
  for (const auto& [key, ledger] : ledgers_) sum += ledger.outstanding;
  return sum;
}

}  // namespace loom::broker
