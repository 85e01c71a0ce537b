// Pooled budgets: one ledger for each {op_id, step_id} that has a call running or waiting. Pure.
// The first clearance opens the ledger with its budget; later ones reserve against it and cannot widen it. The ledger
// goes when nothing is reserved and nothing waits under it; absence and emptiness mean the same.
// Ownership: a Reservation or a Wait is a value that its holder gives back exactly once; each carries the ledger's
// generation, so that one from before a sweep never touches a later ledger. Carries out: spec/broker.md "Budgets".
//
//   event     no ledger               ledger, deadline to come          ledger, deadline passed
//   reserve   opened, reserved        reserved, or exhausted at max     deadline_passed
//   wait      opened, held open       held open                         held open (the waiter is told when it asks)
//   release   nothing                 one less (same generation)        the same
//   sweep     nothing                 gone, whatever it held            gone
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/clock.h"

namespace loom::broker {

struct StepKey {
  std::string op_id;
  std::string step_id;
  friend auto operator<=>(const StepKey&, const StepKey&) = default;  // NOLINT(modernize-use-nullptr): its own zero
};

struct BudgetTerms {
  std::uint64_t max_outstanding = 4;
  std::uint64_t deadline_ms = 0;  // aggregate, from the ledger's opening; 0 none
};

struct LedgerHold {
  StepKey key;
  std::uint64_t generation = 0;
};
struct Reservation : LedgerHold {};
struct Wait : LedgerHold {};

struct BudgetExhausted {
  std::uint64_t outstanding = 0;
  std::uint64_t max = 0;
};
struct DeadlinePassed {};

class Ledgers {
 public:
  [[nodiscard]] std::variant<Reservation, BudgetExhausted, DeadlinePassed> reserve(const StepKey& key,
                                                                                   const BudgetTerms& terms,
                                                                                   TimePoint now);
  void release(const Reservation& reservation);
  // Keeps the ledger (its cap and its deadline) while a call waits in the queue. Takes no slot.
  [[nodiscard]] Wait wait(const StepKey& key, const BudgetTerms& terms, TimePoint now);
  void release(const Wait& wait);

  // What was reserved is freed wholesale; later releases find another generation.
  void sweep_op(std::string_view op_id);
  void sweep_step(const StepKey& key);

  [[nodiscard]] std::optional<TimePoint> deadline(const StepKey& key) const;
  [[nodiscard]] std::uint64_t outstanding() const;  // of all ledgers
  [[nodiscard]] std::size_t size() const { return ledgers_.size(); }

 private:
  struct Ledger {
    std::uint64_t generation = 0;
    std::uint64_t max = 0;
    std::uint64_t outstanding = 0;
    std::uint64_t waiting = 0;
    std::optional<TimePoint> deadline;
  };
  Ledger& open(const StepKey& key, const BudgetTerms& terms, TimePoint now);
  void give_back(const LedgerHold& hold, std::uint64_t Ledger::*count);

  std::map<StepKey, Ledger> ledgers_;
  std::uint64_t next_generation_ = 1;
};

}  // namespace loom::broker
