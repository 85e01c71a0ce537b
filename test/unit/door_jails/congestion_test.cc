// Many callers and few slots: everybody is answered, nobody passes the queue, and one who does not read holds up only
// himself.
#include <gtest/gtest.h>

#include <chrono>

#include "test/support/door.h"

namespace loom::test {
namespace {

constexpr int kClients = 64;
constexpr int kCalls = 500;

TEST(Congestion, FiveHundredCallsOfSixtyFourClientsThroughFourSlotsAreEachAnsweredOnce) {
  Door door(real({"--pool-size", "4", "--per-helper", "2"}));
  std::vector<std::unique_ptr<DoorClient>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(std::make_unique<DoorClient>(door.broker.socket()));
  std::vector<std::pair<DoorClient*, std::uint64_t>> calls;
  for (int i = 0; i < kCalls; ++i) {
    DoorClient& client = *clients[static_cast<std::size_t>(i % kClients)];
    calls.emplace_back(&client,
                       client.start({"sh", "-c", "echo " + std::to_string(i) + "; exit " + std::to_string(i % 100)}));
  }
  for (int i = 0; i < kCalls; ++i) {
    const auto& [client, call] = calls[static_cast<std::size_t>(i)];
    const HeardCall& heard = client->settle(call);
    EXPECT_EQ(heard.verdict(), "exited " + std::to_string(i % 100)) << i;
    EXPECT_EQ(heard.out, std::to_string(i) + "\n");
  }
  const Value shown = door.snapshot();
  EXPECT_EQ(count_in(shown, {"counters", "starts"}), static_cast<std::uint64_t>(kCalls));
  EXPECT_EQ(count_in(shown, {"counters", "settled", "exited"}), static_cast<std::uint64_t>(kCalls));
  EXPECT_EQ(count_in(shown, {"counters", "refused", "all_busy"}), 0U);
  EXPECT_EQ(count_in(shown, {"pool", "spawned"}), 2U);
  EXPECT_EQ(wrong_books(door), "");
  for (const auto& client : clients) EXPECT_TRUE(client->wrongs().empty()) << client->wrongs().front();
}

TEST(Congestion, TheQueueIsServedInTheOrderOfArrival) {
  Door door(acting("", {"--pool-size", "1"}));
  const std::uint64_t holder = door.client.start({"wait", "exit:0"});
  EXPECT_TRUE(door.client.started(holder).started);
  std::vector<std::unique_ptr<DoorClient>> clients;
  std::vector<std::uint64_t> calls;
  for (std::size_t i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<DoorClient>(door.broker.socket()));
    calls.push_back(clients.back()->start({"exit:0"}));
    EXPECT_TRUE(door.shows([&](const Value& shown) { return count_in(shown, {"waiting", "count"}) == i + 1; }));
  }
  door.cancel(holder);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const HeardCall& heard = clients[i]->settle(calls[i]);
    ASSERT_TRUE(heard.started);
    EXPECT_GT(heard.started->execution.seq, last);
    last = heard.started->execution.seq;
  }
}

TEST(Congestion, EveryWaiterHasAVerdictInsideItsOwnBudget) {
  Door door(acting("", {"--pool-size", "1"}));
  EXPECT_TRUE(door.client.started(door.client.start({"wait", "exit:0"})).started);
  DoorClient waiter(door.broker.socket());
  std::vector<std::uint64_t> calls;
  for (const std::uint64_t budget : {0U, 50U, 300U, 600U}) {
    CallSpec spec = DoorClient::spec({"exit:0"});
    spec.waiting_ms = budget;
    calls.push_back(waiter.call(spec));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const HeardCall& heard = waiter.settle(calls[i]);
    EXPECT_EQ(heard.verdict(), "refused all_busy") << i;
    EXPECT_EQ(count_in(heard.refused->detail, {"size"}), 1U);
  }
  // Each left at its own end: in the order of their budgets, whatever came between.
  EXPECT_LE(count_in(waiter.of(calls[0]).refused->detail, {"waited_ms"}),
            count_in(waiter.of(calls[1]).refused->detail, {"waited_ms"}));
  EXPECT_LE(count_in(waiter.of(calls[1]).refused->detail, {"waited_ms"}),
            count_in(waiter.of(calls[2]).refused->detail, {"waited_ms"}));
  EXPECT_GE(count_in(waiter.of(calls[3]).refused->detail, {"waited_ms"}), 600U);
  CallSpec budget = DoorClient::spec({"exit:0"});
  budget.op_id = "short";
  budget.budget.deadline_ms = 100;
  EXPECT_EQ(waiter.settle(waiter.call(budget)).verdict(), "refused deadline_passed");
}

TEST(Congestion, TwentyCallsBackToBackOnOneSlotOfARealHelperNeverMeetBusy) {
  Door door(real({"--pool-size", "1"}));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(door.client.settle(door.client.start({"sh", "-c", "exit " + std::to_string(i)})).verdict(),
              "exited " + std::to_string(i));
  }
  EXPECT_EQ(count_in(door.snapshot(), {"pool", "spawned"}), 1U);
}

// Both share one helper, and so one pipe.
TEST(Congestion, AReaderThatStopsSlowsNeitherAnotherCallOnItsHelperNorACancel) {
  Door door(real({"--pool-size", "2", "--per-helper", "2"}));
  DoorClient deaf(door.broker.socket());
  deaf.grants_credit = false;
  const std::uint64_t stuck = deaf.start({"yes"});
  EXPECT_TRUE(deaf.until([&] { return deaf.of(stuck).out_bytes >= 1U << 20U; }));
  const std::uint64_t beside = door.client.start({"sh", "-c", "head -c 3000000 /dev/zero; exit 6"});
  EXPECT_EQ(door.client.settle(beside).verdict(), "exited 6");
  EXPECT_EQ(door.client.of(beside).out_bytes, 3'000'000U);
  EXPECT_EQ(count_in(door.snapshot(), {"pool", "spawned"}), 1U);
  // Nothing of what it was sent is read; the cancel still arrives and the call still ends.
  DoorClient other(door.broker.socket());
  (void)other.ask("call_cancel", encode(CallCancel{{}, deaf.of(stuck).started->execution.seq}));
  EXPECT_TRUE(door.shows([](const Value& shown) { return shown.find("live")->get_if<Array>()->empty(); }));
  EXPECT_EQ(deaf.settle(stuck).settled->stopped_by, "cancel");
  EXPECT_EQ(deaf.of(stuck).out_bytes, 1U << 20U);
}

// Cancels that meet the end of their command, in every of its moments: the helper outlives them all.
TEST(Congestion, CancelsThatMeetTheEndOfTheirCommandCostNoHelper) {
  Door door(real({"--pool-size", "8", "--per-helper", "4"}));
  std::vector<std::uint64_t> calls;
  for (int i = 0; i < 160; ++i) {
    calls.push_back(door.client.start({"sh", "-c", "sleep 0.02"}));
    if (i % 8 != 7) continue;
    // Eight at a time: cancelled before the go, or when they have nearly ended.
    (void)door.client.started(calls[calls.size() - 8]);
    for (int turn = 0; turn < i / 8 % 3; ++turn) (void)door.client.turn(10);
    for (std::size_t n = calls.size() - 8; n < calls.size(); ++n) {
      (void)door.client.send("call_cancel", encode(CallCancel{calls[n], {}}));
    }
  }
  for (const std::uint64_t call : calls) EXPECT_TRUE(door.client.settle(call).over());
  EXPECT_EQ(door.broker.log().find("helper.died"), std::string::npos) << door.broker.log();
  EXPECT_EQ(count_in(door.snapshot(), {"counters", "settled", "lost"}), 0U);
}

}  // namespace
}  // namespace loom::test
