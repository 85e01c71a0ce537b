#include <array>
#include <ostream>
#include <utility>

#include "broker/execution.h"
#include "test/property/broker/runs.h"
#include "test/support/property.h"

namespace loom::broker {

namespace event = execution_event;
namespace effect = execution_effect;

constexpr std::size_t kEventKinds = std::variant_size_v<ExecutionEvent>;

void showValue(const ExecutionEvent& drawn, std::ostream& out) {
  out << "event " << drawn.index();
}

namespace {

ExecutionEvent draw_event() {
  const auto small = [] { return *rc::gen::inRange<std::uint64_t>(0, 4); };
  switch (*rc::gen::inRange<int>(0, static_cast<int>(kEventKinds))) {
    case 0:
      return event::Output{{*rc::gen::element(Stream::kStdout, Stream::kStderr), "x", small(), false}};
    case 1: {
      ExecExit exit;
      exit.cancelled = *rc::gen::arbitrary<bool>();
      exit.timed_out = *rc::gen::arbitrary<bool>();
      exit.degraded = *rc::gen::arbitrary<bool>();
      return event::Exited{exit};
    }
    case 2:
      return event::Failed{*rc::gen::element(cancel_escalated(), protocol_violation("x"), helper_refused("a", "b"))};
    case 3:
      return event::CancelRequested{*rc::gen::element(StopCause::kCancel, StopCause::kAbort, StopCause::kClosing)};
    case 4:
      return event::CallerDown{};
    case 5:
      return event::HelperDown{*rc::gen::arbitrary<bool>()};
    case 6:
      return event::DeadlineReached{*rc::gen::element(StopCause::kDeadline, StopCause::kBudget)};
    case 7:
      return event::GraceExpired{};
    default:
      return event::Credit{*rc::gen::element(Stream::kStdin, Stream::kStdout, Stream::kStderr),
                           kInitialCredit + small()};
  }
}

std::vector<ExecutionEvent> draw_events() {
  return *rc::gen::container<std::vector<ExecutionEvent>>(rc::gen::exec(draw_event));
}

bool terminal(const ExecutionEvent& drawn, const ExecutionCore& before) {
  if (std::holds_alternative<event::GraceExpired>(drawn)) return before.mode == Mode::kDraining;
  return std::holds_alternative<event::Exited>(drawn) || std::holds_alternative<event::Failed>(drawn) ||
         std::holds_alternative<event::HelperDown>(drawn);
}

template <class T>
std::size_t count(const std::vector<ExecutionEffect>& effects) {
  std::size_t n = 0;
  for (const ExecutionEffect& each : effects) n += std::holds_alternative<T>(each) ? 1U : 0U;
  return n;
}

TEST(ExecutionProperty, OneSettlementNothingAfterItAndOneCancel) {
  loom::test::property("any sequence settles at most once, cancels at most once, and is silent afterwards", [] {
    ExecutionCore core;
    core.expected.demand = *rc::gen::element(Demand::kBestEffort, Demand::kFull);
    std::size_t settled = 0;
    std::size_t cancels = 0;
    bool gone = false;
    for (ExecutionEvent& drawn : draw_events()) {
      const bool ends = terminal(drawn, core);
      const bool was_settled = settled > 0;
      gone = gone || std::holds_alternative<event::CallerDown>(drawn);
      const auto effects = step(core, std::move(drawn));
      if (was_settled) RC_ASSERT(effects.empty());
      if (gone) RC_ASSERT(count<effect::Deliver>(effects) == 0U);
      settled += count<effect::Settle>(effects);
      cancels += count<effect::SendCancel>(effects);
      RC_ASSERT(count<effect::SendCancel>(effects) == count<effect::EnterDraining>(effects));
      RC_ASSERT(!ends || was_settled || count<effect::Settle>(effects) == 1U);
      RC_ASSERT(settled <= 1U);
      RC_ASSERT(cancels <= 1U);
      RC_ASSERT(core.settled == (settled == 1U));
    }
  });
}

TEST(ExecutionProperty, WhoStoppedItIsOnlyEverSaidWhenSomebodyDid) {
  loom::test::property("a settlement names a stop of ours only after a stop of ours", [] {
    ExecutionCore core;
    core.expected.demand = Demand::kBestEffort;
    bool stopped = false;
    for (ExecutionEvent& drawn : draw_events()) {
      for (ExecutionEffect& each : step(core, std::move(drawn))) {
        stopped = stopped || std::holds_alternative<effect::SendCancel>(each);
        const auto* settle = std::get_if<effect::Settle>(&each);
        if (settle == nullptr) continue;
        const StopCause by = settle->settlement.stopped_by;
        RC_ASSERT(stopped || by == StopCause::kNone || by == StopCause::kWall || by == StopCause::kCpu);
      }
    }
  });
}

TEST(ExecutionProperty, EveryKindOfEventIsDrawn) {
  std::array<int, kEventKinds> drawn{};
  loom::test::property("the generator reaches every event", [&drawn] {
    for (const ExecutionEvent& each : draw_events()) ++drawn[each.index()];
  });
  for (const int times : drawn) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace loom::broker
