#include "os/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "os/unique_fd.h"

namespace loom {
namespace {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(Loop, CallsBackAgainWhileUnreadDataRemains) {
  Loop loop;
  Pipe pipe = make_pipe();
  ASSERT_EQ(::write(pipe.write.get(), "abc", 3), 3);
  std::string seen;
  Loop::Watch watch = loop.watch(pipe.read.get(), Readiness::kRead, [&] {
    char one = 0;
    ASSERT_EQ(::read(pipe.read.get(), &one, 1), 1);
    seen += one;
    if (seen.size() == 3) loop.stop();
  });
  loop.run();
  EXPECT_EQ(seen, "abc");
}

TEST(Loop, OfADescriptorThatIsHeldOnlyTheLastWatchIsCalled) {
  Loop loop;
  Pipe pipe = make_pipe();
  const Loop::Watch held = loop.hold(pipe.read.get());
  Loop::Watch first = loop.watch(pipe.read.get(), Readiness::kRead, [] { FAIL() << "it was dropped"; });
  first.reset();
  std::string seen;
  Loop::Watch second = loop.watch(pipe.read.get(), Readiness::kRead, [&] {
    char one = 0;
    ASSERT_EQ(::read(pipe.read.get(), &one, 1), 1);
    seen += one;
    if (seen.size() == 1) loop.post([&] { ASSERT_EQ(::write(pipe.write.get(), "b", 1), 1); });
    if (seen.size() == 2) loop.stop();
  });
  ASSERT_EQ(::write(pipe.write.get(), "a", 1), 1);
  loop.run();
  EXPECT_EQ(seen, "ab");
}

TEST(Loop, HangUpCountsAsReadable) {
  Loop loop;
  Pipe pipe = make_pipe();
  pipe.write.reset();
  bool ended = false;
  Loop::Watch watch = loop.watch(pipe.read.get(), Readiness::kRead, [&] {
    char one = 0;
    ended = ::read(pipe.read.get(), &one, 1) == 0;
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(ended);
}

TEST(Loop, AWatchMayDestroyItselfAndTheDescriptorStaysOpen) {
  Loop loop;
  Pipe pipe = make_pipe();
  ASSERT_EQ(::write(pipe.write.get(), "ab", 2), 2);
  int calls = 0;
  Loop::Watch watch;
  watch = loop.watch(pipe.read.get(), Readiness::kRead, [&] {
    ++calls;
    watch.reset();
    loop.post([&] { loop.post([&] { loop.stop(); }); });
  });
  loop.run();
  EXPECT_EQ(calls, 1);
  char one = 0;
  EXPECT_EQ(::read(pipe.read.get(), &one, 1), 1);
}

TEST(Loop, OneDescriptorIsWatchedInBothDirections) {
  Loop loop;
  const UniqueFd both(::open("/dev/null", O_RDWR | O_CLOEXEC));  // a kind that epoll refuses: always ready
  bool readable = false;
  bool writable = false;
  Loop::Watch r = loop.watch(both.get(), Readiness::kRead, [&] {
    readable = true;
    if (writable) loop.stop();
  });
  Loop::Watch w = loop.watch(both.get(), Readiness::kWrite, [&] {
    writable = true;
    if (readable) loop.stop();
  });
  loop.run();
  EXPECT_TRUE(readable && writable);
}

TEST(Loop, ADescriptorNumberIsWatchedAgainAfterItsFileWasClosed) {
  Loop loop;
  for (int round = 0; round < 3; ++round) {
    Pipe pipe = make_pipe();
    int calls = 0;
    Loop::Watch watch = loop.watch(pipe.read.get(), Readiness::kRead, [&] {
      ++calls;
      loop.stop();
    });
    ASSERT_EQ(::write(pipe.write.get(), "x", 1), 1);
    loop.run();
    EXPECT_EQ(calls, 1);
    watch.reset();
  }
}

TEST(Loop, TimersFireInOrderAndADestroyedOneNever) {
  Loop loop;
  std::string order;
  const TimePoint start = loop.now();
  Loop::Timer never = loop.timer(start + milliseconds(1), [&] { order += "never"; });
  Loop::Timer second = loop.timer(start + milliseconds(4), [&] {
    order += "2";
    EXPECT_GE(loop.now(), start + milliseconds(4));
    loop.stop();
  });
  Loop::Timer first = loop.timer(start + milliseconds(2), [&] { order += "1"; });
  never.reset();
  loop.run();
  EXPECT_EQ(order, "12");
}

TEST(Loop, NowStandsStillWithinATurn) {
  Loop loop;
  loop.post([&] {
    const TimePoint before = loop.now();
    while (monotonic_now() <= before + milliseconds(1)) {
    }
    EXPECT_EQ(loop.now(), before);
    loop.stop();
  });
  loop.run();
}

TEST(Loop, RunsAgainAfterStop) {
  Loop loop;
  int turns = 0;
  for (int i = 0; i < 2; ++i) {
    loop.post([&] {
      ++turns;
      loop.stop();
    });
    loop.run();
  }
  EXPECT_EQ(turns, 2);
}

}  // namespace
}  // namespace loom
