#include <array>
#include <string>
#include <utility>

#include "broker/clearance.h"
#include "test/property/broker/runs.h"
#include "test/support/broker_world.h"
#include "test/support/property.h"

namespace loom::broker {
namespace {

// A dispatcher that only counts what was borrowed.
class Counting : public Dispatcher {
 public:
  std::variant<Lease, NoSlot> borrow(TimePoint) override {
    if (outcome != 0) return outcome == 1 ? NoSlot::kCongested : NoSlot::kUnavailable;
    ++lent;
    return Lease{1, next++};
  }
  void give_back(const Lease&, TimePoint) override { --lent; }
  const Report& features(const Lease&) const override { return held; }
  std::variant<std::unique_ptr<Execution>, StartRefusal> start(Dispatch, TimePoint) override {
    return StartRefusal::kStaleLease;
  }
  int outcome = 0;
  int lent = 0;
  std::uint64_t next = 1;
  Report held;
};

CallSpec draw_spec() {
  CallSpec spec = test::World::spec(*rc::gen::element<std::string>("a", "b"), *rc::gen::element<std::string>("1", "2"));
  if (*rc::gen::inRange(0, 6) == 0) spec.caps = {"exec.run"};
  if (*rc::gen::inRange(0, 6) == 0) spec.requirements = Map{{"v", 9}};
  if (*rc::gen::inRange(0, 6) == 0) spec.op_id.clear();
  spec.budget.max_outstanding = *rc::gen::inRange<std::uint64_t>(1, 3);
  return spec;
}

TEST(ClearanceProperty, ASweptOneNeverDispatchesAndARefusedOneHoldsNothing) {
  std::array<int, kStageCount> reached{};
  std::array<int, 3> ends{};
  loom::test::property("a sweep between any two stages stops the clearance, and all it took goes back", [&] {
    BrokerConfig config = test::small_config();
    Ledgers ledgers;
    Vault vault;
    Counting dispatcher;
    dispatcher.outcome = *rc::gen::element(0, 0, 0, 1, 2);
    if (*rc::gen::inRange(0, 6) != 0) dispatcher.held = required_layers(config.base, {});
    std::vector<Effect> outbox;
    Proxies proxies(config.jail_dir, outbox);
    Desk desk{config, ledgers, vault, proxies, dispatcher, TimePoint{seconds(1)}};
    Clearance clearance;
    clearance.spec = draw_spec();
    clearance.entropy = std::string(*rc::gen::inRange(0, 8) == 0 ? 5 : 32, 'e');
    clearance.must_wait = *rc::gen::inRange(0, 8) == 0;
    const int sweep_before = *rc::gen::inRange(0, 2 * kStageCount);  // half of the time: never
    bool swept = false;
    int passed = 0;
    StageAnswer answer = Passed{};
    for (int stage = 0; stage < kStageCount && std::holds_alternative<Passed>(answer); ++stage) {
      if (stage == sweep_before) {
        const Sweep sweep{clearance.spec.op_id, std::nullopt};
        swept = clearance.swept = sweep.reaches(clearance.step());
      }
      ++reached[static_cast<std::size_t>(stage)];
      answer = run_stage(static_cast<Stage>(stage), clearance, desk);
      if (std::holds_alternative<Passed>(answer)) ++passed;
    }
    const bool dispatches = passed == kStageCount;
    RC_ASSERT(!(swept && dispatches));
    RC_ASSERT(!(clearance.must_wait && dispatches));
    ++ends[dispatches ? 0U : std::holds_alternative<Congested>(answer) ? 1U : 2U];
    if (dispatches) {
      RC_ASSERT(ledgers.outstanding() == 1U);
      RC_ASSERT(vault.size() == 1U);
      RC_ASSERT(dispatcher.lent == 1);
    }
    give_back(clearance, desk);
    RC_ASSERT(ledgers.outstanding() == 0U);
    RC_ASSERT(ledgers.size() == 0U);
    RC_ASSERT(vault.size() == 0U);
    RC_ASSERT(dispatcher.lent == 0);
    give_back(clearance, desk);
    RC_ASSERT(dispatcher.lent == 0);
  });
  for (const int times : reached) EXPECT_GT(times, 0);
  for (const int times : ends) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace loom::broker
