#include "os/subreaper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>

#include "os/spawn.h"

namespace loom {
namespace {

// One run of the loop that ends when `done` is called, or fails the test after ten seconds.
class Turns {
 public:
  Loop& loop() { return loop_; }
  void done() { loop_.stop(); }
  void run() {
    const Loop::Timer limit = loop_.timer(monotonic_now() + seconds(10), [this] {
      ADD_FAILURE() << "nothing happened";
      loop_.stop();
    });
    loop_.run();
  }

 private:
  Loop loop_;
};

TEST(Subreaper, AnExpectedChildsStatusComesOnce) {
  Turns turns;
  auto reaper = Subreaper::open(turns.loop(), [](pid_t) { ADD_FAILURE() << "no orphan was made"; });
  ASSERT_TRUE(reaper) << reaper.error().text();
  auto exits = spawn_child(SpawnRequest{"/bin/sh", {"-c", "exit 7"}, -1});
  auto killed = spawn_child(SpawnRequest{"/bin/sh", {"-c", "kill -KILL $$"}, -1});
  ASSERT_TRUE(exits && killed);
  int ends = 0;
  (*reaper)->expect(exits->pid, [&](ChildEnd end) {
    EXPECT_EQ(end.code, 7);
    EXPECT_EQ(end.signal, 0);
    if (++ends == 2) turns.done();
  });
  (*reaper)->expect(killed->pid, [&](ChildEnd end) {
    EXPECT_EQ(end.code, 128 + SIGKILL);
    EXPECT_EQ(end.signal, SIGKILL);
    if (++ends == 2) turns.done();
  });
  turns.run();
  EXPECT_EQ(ends, 2);
}

TEST(Subreaper, WhatAChildLeavesBehindIsOursToSeeAndToReap) {
  Turns turns;
  pid_t reaped = 0;
  auto reaper = Subreaper::open(turns.loop(), [&](pid_t pid) {
    reaped = pid;
    turns.done();
  });
  ASSERT_TRUE(reaper);
  auto child = spawn_child(SpawnRequest{"/bin/sh", {"-c", "sleep 1000 >/dev/null & exit 0"}, -1});
  ASSERT_TRUE(child);
  pid_t orphan = 0;
  (*reaper)->expect(child->pid, [&](ChildEnd) {
    const auto orphans = (*reaper)->orphans();
    ASSERT_EQ(orphans.size(), 1U);
    orphan = orphans.front();
    EXPECT_EQ(::kill(orphan, SIGKILL), 0);
  });
  turns.run();
  EXPECT_EQ(reaped, orphan);
  EXPECT_TRUE((*reaper)->orphans().empty());
}

}  // namespace
}  // namespace loom
