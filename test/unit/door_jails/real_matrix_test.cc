// The failure matrix over real helpers and real jails: what the kernel does with a fault, and that nothing of it stays.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>

#include "test/support/door.h"

namespace loom::test {
namespace {

// A word of the command line of whatever a test started: nothing else on the machine has it.
std::string fresh_mark() {
  static std::atomic<int> number{0};
  return "door-mark-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

bool anybody(const std::string& mark) {
  DIR* folder = ::opendir("/proc");
  bool found = false;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const std::string words = read_text(std::string("/proc/") + entry->d_name + "/cmdline");
    found = found || (std::stoi(entry->d_name) != ::getpid() && words.find(mark) != std::string::npos);
  }
  ::closedir(folder);
  return found;
}

bool nobody(const std::string& mark) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (anybody(mark)) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

// A shell command whose process has the mark among its words.
CallSpec shell(const std::string& command, const std::string& mark = "none") {
  return DoorClient::spec({"sh", "-c", command, mark});
}

// A call that has said "ready" (after its traps, if it has some).
std::uint64_t ready_call(DoorClient& client, const std::string& command, const std::string& mark) {
  const std::uint64_t call = client.call(shell(command, mark));
  EXPECT_TRUE(client.until([&] { return client.of(call).out.rfind("ready\n", 0) == 0 || client.of(call).over(); }));
  EXPECT_EQ(client.of(call).verdict(), "");
  return call;
}

void ends_well(Door& door, const std::string& name) {
  EXPECT_EQ(door.client.settle(door.client.call(shell("exit 5"))).verdict(), "exited 5") << name << door.broker.log();
  EXPECT_EQ(wrong_books(door), "") << name;
  EXPECT_EQ(count_in(door.client.ask("stop"), {"unconfirmed"}), 0U) << name << door.broker.log();
  EXPECT_EQ(door.broker.wait(), 0) << name << door.broker.log();
  EXPECT_TRUE(door.client.wrongs().empty()) << name << door.client.wrongs().front();
}

struct Row {
  const char* name;
  const char* command;
  void (*fault)(Door& door, pid_t helper, std::uint64_t call);
  const char* verdict;
  const char* stopped_by;
};

void kill_helper(Door&, pid_t helper, std::uint64_t) {
  ::kill(helper, SIGKILL);
}
void cancel_and_kill(Door& door, pid_t helper, std::uint64_t call) {
  door.cancel(call);
  ::kill(helper, SIGKILL);
}
void stop_and_cancel(Door& door, pid_t helper, std::uint64_t call) {
  ::kill(helper, SIGSTOP);
  door.cancel(call);
}
void only_cancel(Door& door, pid_t, std::uint64_t call) {
  door.cancel(call);
}
void interrupt_helper(Door&, pid_t helper, std::uint64_t) {
  ::kill(helper, SIGTERM);
}

const std::vector<Row> kRows = {
    {"killed -9 while running", "echo ready; sleep 1000", kill_helper, "failed execution_lost helper_down", "none"},
    {"killed -9 while cancelling", "trap '' TERM; echo ready; while :; do sleep 1; done", cancel_and_kill,
     "failed execution_lost helper_down", "cancel"},
    {"stopped, then cancelled", "echo ready; sleep 1000", stop_and_cancel, "failed cancel_escalated", "cancel"},
    {"an honest cancel", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done", only_cancel, "exited 7",
     "cancel"},
    {"a cancel that is ignored by the command ends by the ladder",
     "trap '' TERM; echo ready; while :; do sleep 1; done", only_cancel, "exited 137", "cancel"},
    {"told to end by a signal", "echo ready; sleep 1000", interrupt_helper, "", ""},
};

void check(const Row& row) {
  const std::string mark = fresh_mark();
  Door door(real({"--pool-size", "4"}));
  const std::uint64_t call = ready_call(door.client, row.command, mark);
  const auto helpers = door.helpers();
  ASSERT_EQ(helpers.size(), 1U) << row.name;
  row.fault(door, helpers[0], call);
  const HeardCall& heard = door.client.settle(call);
  if (*row.verdict != '\0') {
    EXPECT_EQ(heard.verdict(), row.verdict) << row.name << "\n" << door.broker.log();
    EXPECT_TRUE(heard.settled && heard.settled->stopped_by == row.stopped_by) << row.name;
  }
  EXPECT_TRUE(heard.over()) << row.name;
  if (*row.verdict == '\0') {
    // It says the end of its call before its own: a call in between would be lost with it.
    EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"pool", "retired"}) == 1; })) << row.name;
  }
  EXPECT_TRUE(nobody(mark)) << row.name;
  ends_well(door, row.name);
}

TEST(RealMatrix, EachFaultOfARealHelperGivesItsOneVerdictAndLeavesNoProcess) {
  side_by_side(kRows.size(), [](std::size_t i) { check(kRows[i]); });
}

TEST(RealMatrix, AHelperKilledIdleCostsNobodyAnything) {
  Door door(real({"--pool-size", "4"}));
  EXPECT_EQ(door.client.settle(door.client.call(shell("exit 1"))).verdict(), "exited 1");
  const auto helpers = door.helpers();
  ASSERT_EQ(helpers.size(), 1U);
  ::kill(helpers[0], SIGKILL);
  EXPECT_TRUE(ends(helpers[0]));
  EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"pool", "retired"}) == 1; }));
  ends_well(door, "idle");
}

// The first start stops before it becomes the helper; a later one goes on.
TEST(RealMatrix, AHelperKilledWhileItStartsIsOneRefusalAndTheNextCallRuns) {
  BrokerProcess place;  // for a folder that outlives the door
  const std::string script = place.folder() + "/helper";
  std::ofstream(script) << "#!/bin/sh\n[ -e '" << place.folder() << "/once' ] || { : >'" << place.folder()
                        << "/once'; kill -STOP $$; }\nexec '" << tool_path("loom-exec") << "' \"$@\"\n";
  ::chmod(script.c_str(), 0755);
  ServeSetup setup = real({"--pool-size", "4", "--spare-helpers", "0"});
  setup.helper = script;
  Door door(setup);
  const std::uint64_t call = door.client.call(shell("exit 1"));
  std::vector<pid_t> starting;
  EXPECT_TRUE(door.client.until([&] { return !(starting = door.helpers()).empty() && starting[0] != 0; }));
  ::kill(starting[0], SIGKILL);
  EXPECT_EQ(door.client.settle(call).verdict(), "refused spawn_failed");
  if (!read_text(place.folder() + "/once").empty()) std::ofstream(place.folder() + "/once") << "";
  std::ofstream(place.folder() + "/once").close();
  ends_well(door, "starting");
}

TEST(RealMatrix, ACallerThatGoesTakesItsCommandAlongWhereverItWas) {
  const std::string mark = fresh_mark();
  Door door(real({"--pool-size", "1"}));
  auto leaver = std::make_unique<DoorClient>(door.broker.socket());
  (void)ready_call(*leaver, "echo ready; sleep 1000", mark);
  DoorClient waiter(door.broker.socket());
  waiter.call(shell("sleep 1000", mark));
  EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"waiting", "count"}) == 1; }));
  waiter.close();
  EXPECT_TRUE(door.shows([](const Value& shown) { return count_in(shown, {"waiting", "count"}) == 0; }));
  leaver->close();
  EXPECT_TRUE(nobody(mark));
  DoorClient reader(door.broker.socket());
  reader.grants_credit = false;
  const std::uint64_t flood = reader.call(DoorClient::spec({"yes", mark}));
  EXPECT_TRUE(reader.until([&] { return reader.of(flood).out_bytes > 0; }));
  reader.close();
  EXPECT_TRUE(nobody(mark));
  ends_well(door, "gone callers");
}

TEST(RealMatrix, StdinToAnEndedCallIsAnErrorAndTheChannelStays) {
  Door door(real());
  CallSpec spec = shell("exit 1");
  spec.wants_stdin = true;
  const std::uint64_t call = door.client.call(spec);
  EXPECT_EQ(door.client.settle(call).verdict(), "exited 1");
  EXPECT_EQ(text_in(door.client.ask("call_stdin", encode(CallStdin{call, "late", false})), {"error"}), "no_call");
  ends_well(door, "stdin");
}

TEST(RealMatrix, ACloseDuringOutputGivesTheRealEndOfACommandThatHeedsItAndOfOneThatDoesNot) {
  const std::string mark = fresh_mark();
  Door door(real());
  const std::uint64_t heeds =
      ready_call(door.client, "trap 'exit 3' TERM; echo ready; while :; do echo output; done", mark);
  const std::uint64_t deaf = ready_call(door.client, "trap '' TERM; echo ready; while :; do echo output; done", mark);
  DoorClient closer(door.broker.socket());
  const std::uint64_t asked = closer.send("stop", encode(Stop{}));
  EXPECT_EQ(door.client.settle(heeds).verdict(), "exited 3");
  EXPECT_EQ(door.client.settle(deaf).verdict(), "exited 137") << door.broker.log();
  EXPECT_EQ(door.client.of(deaf).settled->stopped_by, "closing");
  EXPECT_EQ(count_in(closer.answer(asked), {"unconfirmed"}), 0U);
  EXPECT_EQ(door.broker.wait(), 0);
  EXPECT_TRUE(nobody(mark));
}

TEST(RealMatrix, NothingOfABrokerSurvivesItsKill) {
  const std::string mark = fresh_mark();
  Door door(real({"--pool-size", "4", "--per-helper", "2"}));
  for (int i = 0; i < 4; ++i) (void)ready_call(door.client, "echo ready; setsid sleep 1000 & sleep 1000", mark);
  const std::vector<pid_t> helpers = door.broker.children();
  EXPECT_EQ(helpers.size(), 2U);
  door.broker.signal(SIGKILL);
  EXPECT_EQ(door.broker.wait(), 128 + SIGKILL);
  for (const pid_t helper : helpers) EXPECT_TRUE(ends(helper));
  EXPECT_TRUE(nobody(mark));
}

}  // namespace
}  // namespace loom::test
