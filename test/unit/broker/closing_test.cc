#include "broker/closing.h"

#include <gtest/gtest.h>

namespace loom::broker {
namespace {

namespace event = closing_event;
using Effects = std::vector<ClosingEffect>;
const TimePoint kNow{seconds(100)};

TEST(Closing, GoesThroughDrainAndRetirementToOneVerdict) {
  Closing core;
  EXPECT_EQ(step(core, event::Close{3000}, kNow), Effects{ClosingEffect::kCancelAll});
  EXPECT_EQ(step(core, event::CallsGone{}, kNow), Effects{ClosingEffect::kRetireHelpers});
  EXPECT_EQ(step(core, event::HelpersGone{}, kNow), Effects{ClosingEffect::kGiveVerdict});
  EXPECT_TRUE(core.verdict.clean);
}

TEST(Closing, TheHelpersGetTheirWholeBudgetHoweverLongTheDrainTook) {
  Closing core;
  (void)step(core, event::Close{3000}, kNow);
  EXPECT_TRUE(step(core, event::Due{0}, kNow + milliseconds(2999)).empty());
  const Effects overdue = step(core, event::Due{4}, kNow + milliseconds(3000));
  EXPECT_EQ(overdue, (Effects{ClosingEffect::kLoseRest, ClosingEffect::kRetireHelpers}));
  EXPECT_EQ(core.due, kNow + milliseconds(8000));
}

TEST(Closing, AnOverdueHelperIsUnconfirmedAndTheVerdictStays) {
  Closing core;
  (void)step(core, event::Close{0}, kNow);
  (void)step(core, event::CallsGone{}, kNow);
  EXPECT_EQ(step(core, event::Due{4}, kNow + seconds(5)), Effects{ClosingEffect::kGiveVerdict});
  EXPECT_FALSE(core.verdict.clean);
  EXPECT_EQ(core.verdict.unconfirmed, 4U);
  EXPECT_TRUE(step(core, event::HelpersGone{}, kNow + seconds(6)).empty()) << "a late proof does not improve it";
  EXPECT_EQ(step(core, event::Close{1}, kNow + seconds(7)), Effects{ClosingEffect::kGiveVerdict});
  EXPECT_EQ(core.verdict.unconfirmed, 4U);
}

TEST(Closing, ASecondCloseDoesNotMoveTheFirstOnesBudget) {
  Closing core;
  (void)step(core, event::Close{3000}, kNow);
  EXPECT_TRUE(step(core, event::Close{0}, kNow).empty());
  EXPECT_EQ(core.due, kNow + milliseconds(3000));
}

TEST(Closing, NothingEndsABrokerThatIsNotAskedTo) {
  Closing core;
  EXPECT_TRUE(step(core, event::CallsGone{}, kNow).empty());
  EXPECT_TRUE(step(core, event::HelpersGone{}, kNow).empty());
  EXPECT_TRUE(step(core, event::Due{9}, kNow).empty());
}

}  // namespace
}  // namespace loom::broker
