// What an abort reaches: a whole operation, or exactly one step of it. Pure.
// A sweep is not a verdict on the ids: a call that begins after it is served. What must not survive is a clearance that
// began before it, so a sweep marks the clearances that exist, and the mark is judged where they go on. No table of
// past sweeps is kept. Carries out: spec/broker.md "Budgets, tokens, sweeps" (Sweeps).
#pragma once

#include <optional>
#include <string>

#include "broker/budget.h"

namespace loom::broker {

struct Sweep {
  std::string op_id;
  std::optional<std::string> step_id;  // absent: every step

  [[nodiscard]] bool reaches(const StepKey& key) const {
    return key.op_id == op_id && (!step_id || key.step_id == *step_id);
  }
};

}  // namespace loom::broker
