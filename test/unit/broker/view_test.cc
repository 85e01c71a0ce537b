#include "broker/view.h"

#include <gtest/gtest.h>

#include "broker/broker_core.h"

namespace loom::broker {
namespace {

TEST(Ring, KeepsTheLastSixtyFourNewestFirst) {
  Ring<int> ring;
  for (int i = 0; i < 200; ++i) ring.push(i);
  const std::vector<int> kept = ring.newest_first();
  ASSERT_EQ(kept.size(), kRingSize);
  EXPECT_EQ(kept.front(), 199);
  EXPECT_EQ(kept.back(), 136);
}

TEST(Ring, IsInOrderBeforeItIsFull) {
  Ring<int> ring;
  for (int i = 0; i < 3; ++i) ring.push(i);
  EXPECT_EQ(ring.newest_first(), (std::vector<int>{2, 1, 0}));
}

TEST(Latency, PercentilesAreSamplesThatWereTaken) {
  Ring<std::uint64_t> ring;
  EXPECT_EQ(summarise(ring).samples, 0U);
  for (std::uint64_t i = 1; i <= 20; ++i) ring.push(i * 10);
  const LatencySummary summary = summarise(ring);
  EXPECT_EQ(summary.p50, 100U);
  EXPECT_EQ(summary.p95, 190U);
  EXPECT_EQ(summary.max, 200U);
}

TEST(View, ALossNamesItsCauseAndAFailureItsKind) {
  const SettledView lost = view_of(1, {execution_lost(LossCause::kRelayDown), StopCause::kNone});
  EXPECT_EQ(lost.outcome, SettledClass::kLost);
  EXPECT_EQ(lost.cause, "relay_down");
  const SettledView refused = view_of(2, {helper_refused("bad_cwd", "/secret"), StopCause::kNone});
  EXPECT_EQ(refused.outcome, SettledClass::kFailed);
  EXPECT_EQ(refused.kind, "helper_refused");
}

TEST(Log, AValueCannotEndItsLine) {
  const LogLine line{LogLevel::kWarning, "helper.died", {{"why", "a\nlevel=info \"b\""}, {"helper", 7}}};
  const std::string text = render_logfmt(line);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text, R"(level=warning event=helper.died why="a\nlevel=info \"b\"" helper=7)");
  EXPECT_EQ(render_log_json(line),
            R"({"level":"warning","event":"helper.died","why":"a\nlevel=info \"b\"","helper":7})");
}

}  // namespace
}  // namespace loom::broker
