// The failure matrix, case by case, over helpers that are played: each fault gives one verdict, the right one; the next
// call runs; the books are empty and the close is clean.
#include <gtest/gtest.h>
#include <signal.h>

#include "test/support/door.h"

namespace loom::test {
namespace {

struct Row {
  const char* name;
  std::vector<std::string> acts;
  const char* verdict;
  const char* modes = "";
  bool cancel = false;  // once it has started
  const char* stopped_by = "none";
  const char* sibling = "";  // the verdict of a call that waits on the same helper ("": none is made)
};

const std::vector<Row> kRows = {
    {"killed while running",
     {"out:x", "crash"},
     "failed execution_lost helper_down",
     "",
     false,
     "none",
     "failed execution_lost helper_down"},
    {"killed while cancelling", {"wait", "crash"}, "failed execution_lost helper_down", "", true, "cancel"},
    {"exits 0 while running", {"leave:0"}, "failed execution_lost helper_down"},
    {"exits 3 while running", {"leave:3"}, "failed execution_lost helper_down"},
    {"killed before hello", {"exit:0"}, "refused spawn_failed", "gone"},
    {"never says hello", {"exit:0"}, "refused spawn_failed", "mute"},
    {"a hello of an older version", {"exit:0"}, "refused spawn_failed", "proto:3"},
    {"a hello of a newer version", {"exit:0"}, "refused spawn_failed", "proto:5"},
    {"a hello that lacks a layer", {"exit:0"}, "refused degraded_helper", "tags:namespaces,mounts,seccomp-base"},
    {"a malformed frame", {"raw:0000000181"}, "failed channel_closed", "", false, "none", "failed channel_closed"},
    {"a frame with trailing bytes", {"raw:000000028080"}, "failed channel_closed"},
    {"a truncated frame and death", {"cut"}, "failed execution_lost helper_down"},
    {"a truncated frame and silence", {"raw:0000004081", "eof"}, "failed channel_closed"},
    {"an oversized frame", {"huge"}, "failed channel_closed"},
    {"a closed output and silence", {"eof"}, "failed channel_closed"},
    {"a kind that only a broker sends", {"kind:exec_start"}, "failed protocol_violation"},
    {"a kind of the control channel", {"kind:clear_call"}, "failed protocol_violation"},
    {"a kind of the capability channel", {"kind:cap_call"}, "failed protocol_violation"},
    {"a shutdown from a helper", {"kind:shutdown"}, "failed protocol_violation"},
    {"a second hello", {"hello"}, "failed protocol_violation"},
    {"a heartbeat that echoes nothing", {"beat"}, "failed protocol_violation"},
    {"an unknown kind is said and survived", {"unknown", "exit:4"}, "exited 4", "", false, "none", "exited 0"},
    {"late output", {"exit:0", "out:late"}, "exited 0", "", false, "none", "failed protocol_violation"},
    {"a duplicated exit", {"exit:6", "exit:6"}, "exited 6", "", false, "none", "failed protocol_violation"},
    {"an exit for another id", {"stray:exec_exit", "wait"}, "failed protocol_violation"},
    {"output for another id", {"stray:exec_out", "wait"}, "failed protocol_violation"},
    {"output past its credit",
     {"overrun", "wait"},
     "failed protocol_violation",
     "",
     false,
     "none",
     "failed execution_lost helper_down"},
    {"output whose sum is not its bytes",
     {"badsum", "wait"},
     "failed protocol_violation",
     "",
     false,
     "none",
     "failed execution_lost helper_down"},
    {"a refusal after output", {"out:x", "refuse:spawn_failed"}, "failed protocol_violation"},
    {"a refusal", {"refuse:layer_refused"}, "failed helper_refused", "", false, "none", "exited 0"},
    {"a lost jail", {"out:x", "refuse:jail_lost"}, "failed execution_lost helper_down", "", false, "none", "exited 0"},
    {"a fault of the whole channel", {"fault:malformed_frame"}, "failed channel_closed"},
    {"no word about enforcement", {"bare:0"}, "failed enforcement_short"},
    {"degraded", {"degraded:0"}, "failed enforcement_short"},
    {"a layer that was skipped", {"skipped:0"}, "failed enforcement_short"},
    {"ignores a cancel", {"hang"}, "failed cancel_escalated", "", true, "cancel", "failed execution_lost helper_down"},
    {"stops, and is cancelled", {"out:x", "stop"}, "failed cancel_escalated", "", true, "cancel"},
    {"an honest cancel", {"wait", "exit:3"}, "exited 3", "", true, "cancel", "exited 0"},
    {"never exits", {"exit:1"}, "exited 1", "keep"},
    {"exits 0 without shutdown", {"exit:2"}, "exited 2", "early"},
    {"exits 3 after shutdown", {"exit:3"}, "exited 3", "late:3"},
    {"leaves a process behind", {"orphan", "exit:4"}, "exited 4"},
    {"leaves a process behind and dies", {"orphan", "crash"}, "failed execution_lost helper_down"},
};

bool serves_nobody(const Row& row) {
  return std::string(row.verdict).rfind("refused", 0) == 0;
}

void check(const Row& row) {
  const std::string name = row.name;
  Door door(acting(row.modes, {"--pool-size", "4", "--spare-helpers", "0"}));
  DoorClient neighbour(door.broker.socket());
  std::uint64_t beside = 0;
  if (*row.sibling != '\0') {
    beside = neighbour.start({"wait", "exit:0"});
    EXPECT_TRUE(neighbour.started(beside).started) << name;
  }
  door.client.grants_credit = false;
  const std::uint64_t call = door.client.start(row.acts);
  const HeardCall& heard = door.client.started(call);
  if (row.cancel) door.cancel(call);
  (void)door.client.settle(call);
  EXPECT_EQ(heard.verdict(), row.verdict) << name << "\n" << door.broker.log();
  if (heard.settled) {
    EXPECT_EQ(heard.settled->stopped_by, row.stopped_by) << name;
  }
  if (beside != 0) {
    // It is cancelled only where the fault was not also its own.
    if (std::string(row.sibling).rfind("exited", 0) == 0)
      (void)neighbour.ask("call_cancel", encode(CallCancel{beside, {}}));
    EXPECT_EQ(neighbour.settle(beside).verdict(), row.sibling) << name;
  }
  if (std::string(row.modes) == "early") {
    EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"pool", "retired"}) == 1; })) << name;
  }
  if (!serves_nobody(row)) {
    const HeardCall& next = door.client.settle(door.client.start({"exit:5"}));
    EXPECT_EQ(next.verdict(), "exited 5") << name << ": the next call\n" << door.broker.log();
  }
  EXPECT_EQ(wrong_books(door), "") << name;
  const Value verdict = door.client.ask("stop");
  EXPECT_EQ(count_in(verdict, {"unconfirmed"}), 0U) << name << "\n" << door.broker.log();
  EXPECT_EQ(door.broker.wait(), 0) << name << "\n" << door.broker.log();
  EXPECT_TRUE(door.client.wrongs().empty()) << name << ": " << door.client.wrongs().front();
  EXPECT_TRUE(neighbour.wrongs().empty()) << name << ": " << neighbour.wrongs().front();
}

TEST(FailureMatrix, EachFaultOfAPlayedHelperGivesItsOneVerdictAndTheNextCallRuns) {
  side_by_side(kRows.size(), [](std::size_t i) { check(kRows[i]); });
}

TEST(FailureMatrix, AHelperThatIsKilledIdleCostsNobodyAnything) {
  Door door(acting("", {"--pool-size", "4"}));
  EXPECT_EQ(door.client.settle(door.client.start({"exit:1"})).verdict(), "exited 1");
  const auto helpers = door.helpers();
  ASSERT_EQ(helpers.size(), 1U);
  ::kill(helpers[0], SIGKILL);
  EXPECT_TRUE(ends(helpers[0]));
  EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"pool", "retired"}) == 1; }));
  EXPECT_EQ(door.client.settle(door.client.start({"exit:2"})).verdict(), "exited 2");
  EXPECT_EQ(wrong_books(door), "");
}

TEST(FailureMatrix, AHelperThatIsKilledWhileItStartsIsOneRefusalAndTheNextCallRuns) {
  Door door(acting("mute", {"--pool-size", "4", "--spare-helpers", "0"}));
  const std::uint64_t call = door.client.start({"exit:1"});
  std::vector<pid_t> starting;
  EXPECT_TRUE(door.client.until([&] { return !(starting = door.helpers()).empty() && starting[0] != 0; }));
  ::kill(starting[0], SIGKILL);
  EXPECT_EQ(door.client.settle(call).verdict(), "refused spawn_failed");
  EXPECT_EQ(wrong_books(door), "");
}

TEST(FailureMatrix, StdinToAnEndedCallIsAnErrorOfItsOwnAndTheChannelStays) {
  Door door(acting());
  CallSpec spec = DoorClient::spec({"exit:1"});
  spec.wants_stdin = true;
  const std::uint64_t call = door.client.call(spec);
  EXPECT_EQ(door.client.settle(call).verdict(), "exited 1");
  const Value answer = door.client.ask("call_stdin", encode(CallStdin{call, "late", false}));
  EXPECT_EQ(text_in(answer, {"error"}), "no_call");
  EXPECT_EQ(door.client.settle(door.client.start({"exit:2"})).verdict(), "exited 2");
  EXPECT_TRUE(door.client.wrongs().empty());
}

// A caller that leaves at each of the moments of a call.
TEST(FailureMatrix, ACallerThatIsGoneLeavesNothingWaitingAndNothingRunning) {
  for (const char* moment : {"before the start", "in the queue", "during output", "at settlement", "half closed"}) {
    const std::string when = moment;
    Door door(acting("", {"--pool-size", "1"}));
    DoorClient leaver(door.broker.socket());
    std::uint64_t holder = 0;
    if (when == "in the queue") {
      holder = door.client.start({"wait", "exit:0"});
      EXPECT_TRUE(door.client.started(holder).started);
    }
    if (when == "before the start") {
      leaver.start({"wait", "exit:0"});
    } else if (when == "in the queue") {
      leaver.start({"exit:0"});
      EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"waiting", "count"}) == 1; }));
    } else if (when == "during output") {
      leaver.grants_credit = false;
      const std::uint64_t call = leaver.start({"flood", "exit:0"});
      EXPECT_TRUE(leaver.until([&] { return leaver.of(call).out_bytes > 0; }));
    } else if (when == "at settlement") {
      leaver.start({"exit:0"});
    } else {
      const std::uint64_t call = leaver.start({"wait", "exit:0"});
      EXPECT_TRUE(leaver.started(call).started);
      leaver.half_close();
    }
    if (when != "half closed") leaver.close();
    if (holder != 0) {
      EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"waiting", "count"}) == 0; })) << when;
      door.cancel(holder);
      EXPECT_EQ(door.client.settle(holder).verdict(), "exited 0") << when;
    }
    EXPECT_EQ(wrong_books(door), "") << when;
    EXPECT_EQ(door.client.settle(door.client.start({"exit:5"})).verdict(), "exited 5") << when;
    EXPECT_EQ(count_in(door.client.ask("stop"), {"unconfirmed"}), 0U) << when;
    EXPECT_EQ(door.broker.wait(), 0) << when;
  }
}

TEST(FailureMatrix, ACloseDuringOutputGivesTheRealEndOfAnHonestHelperAndALossOfAStubbornOne) {
  Door honest(acting());
  const std::uint64_t call = honest.client.start({"flood", "exit:3"});
  EXPECT_TRUE(honest.client.until([&] { return honest.client.of(call).out_bytes > 2'000'000; }));
  DoorClient closer(honest.broker.socket());
  const std::uint64_t first = closer.send("stop", encode(Stop{}));
  EXPECT_EQ(honest.client.settle(call).verdict(), "exited 3");
  EXPECT_EQ(honest.client.of(call).settled->stopped_by, "closing");
  EXPECT_EQ(count_in(closer.answer(first), {"unconfirmed"}), 0U);
  EXPECT_EQ(honest.broker.wait(), 0);
  EXPECT_TRUE(honest.client.wrongs().empty());

  Door stubborn(acting());
  const std::uint64_t lost = stubborn.client.start({"out:x", "hang"});
  EXPECT_TRUE(stubborn.client.until([&] { return stubborn.client.of(lost).out_bytes > 0; }));
  (void)stubborn.client.send("stop", encode(Stop{200}));
  EXPECT_EQ(stubborn.client.settle(lost).verdict(), "failed execution_lost broker_closing");
  EXPECT_EQ(stubborn.broker.wait(), 0);
  EXPECT_TRUE(stubborn.client.wrongs().empty());
}

TEST(FailureMatrix, ASecondCloseAnswersTheStoredVerdictAndNewCallsAreRefused) {
  Door door(acting("keep"));
  EXPECT_EQ(door.client.settle(door.client.start({"exit:0"})).verdict(), "exited 0");
  DoorClient second(door.broker.socket());
  const std::uint64_t one = door.client.send("stop", encode(Stop{}));
  EXPECT_EQ(door.client.settle(door.client.start({"exit:0"})).verdict(), "refused shutting_down");
  const std::uint64_t two = second.send("stop", encode(Stop{0}));
  const Value verdict = door.client.answer(one);
  EXPECT_EQ(verdict, second.answer(two));
  EXPECT_EQ(count_in(verdict, {"unconfirmed"}), 0U);
  EXPECT_EQ(door.broker.wait(), 0);
}

}  // namespace
}  // namespace loom::test
