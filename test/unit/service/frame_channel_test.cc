#include "service/frame_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "test/unit/service/turns.h"

namespace loom::service {
namespace {

using test::Turns;

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

Pair socket_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string frame(std::uint64_t id, std::size_t padding = 0) {
  return encode_frame(id, "ok", Value(Map{{"pad", Value(std::string(padding, 'x'))}}));
}

void put(const UniqueFd& fd, std::string_view bytes) {
  ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

const char* end_name(ChannelEnd how) {
  switch (how) {
    case ChannelEnd::kEof:
      return "eof";
    case ChannelEnd::kMalformed:
      return "malformed";
    case ChannelEnd::kCutShort:
      return "cut short";
    case ChannelEnd::kBroken:
      return "broken";
  }
  return "";
}

// What a channel said, in order: "frame 3", or how it ended.
struct Record {
  std::vector<std::string> said;
  ChannelEvents events(Turns& turns) {
    return ChannelEvents{[this, &turns](const Frame& f) {
                           said.push_back("frame " + std::to_string(f.id));
                           turns.happened();
                         },
                         [this, &turns](ChannelEnd how, const Error&) {
                           said.emplace_back(end_name(how));
                           turns.happened();
                         }};
  }
};
using Said = std::vector<std::string>;

TEST(FrameChannel, FramesComeInOrderThenTheEnd) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns));
  put(pair.theirs, frame(1) + frame(2));
  pair.theirs.reset();
  turns.until([&] { return record.said.size() == 3; });
  EXPECT_EQ(record.said, (Said{"frame 1", "frame 2", "eof"}));
}

TEST(FrameChannel, AnEndInsideAFrameIsToldFromOneBetweenFrames) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns));
  put(pair.theirs, frame(1).substr(0, 9));
  pair.theirs.reset();
  turns.until([&] { return !record.said.empty(); });
  EXPECT_EQ(record.said, Said{"cut short"});
}

TEST(FrameChannel, BytesThatAreNoFrameEndTheReadingAndAnAnswerStillGoesOut) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns));
  put(pair.theirs, std::string(4, '\xff') + frame(1));
  turns.until([&] { return !record.said.empty(); });
  EXPECT_EQ(record.said, Said{"malformed"});
  channel.send("bye");
  char bytes[8];
  EXPECT_EQ(::read(pair.theirs.get(), bytes, sizeof bytes), 3);
}

TEST(FrameChannel, AFrameThatIsNotCompletedInTimeIsMalformed) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  ChannelLimits limits;
  limits.frame_time = milliseconds(30);
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns), nullptr, limits);
  put(pair.theirs, frame(1) + frame(2).substr(0, 6));
  turns.until([&] { return record.said.size() == 2; });
  EXPECT_EQ(record.said, (Said{"frame 1", "malformed"}));
}

TEST(FrameChannel, WhatDoesNotFitAtOnceIsWrittenAsThePeerReads) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns));
  const std::string big(4U << 20U, 'a');
  channel.send(big);
  channel.send("end");
  EXPECT_GT(channel.unwritten(), 0U);
  bool written = false;
  channel.when_written([&] {
    written = true;
    turns.happened();
  });
  std::string got;
  std::vector<char> buffer(1U << 20U);
  const auto reader = turns.loop().watch(pair.theirs.get(), Readiness::kRead, [&] {
    const ssize_t count = ::read(pair.theirs.get(), buffer.data(), buffer.size());
    if (count > 0) got.append(buffer.data(), static_cast<std::size_t>(count));
    turns.happened();
  });
  turns.until([&] { return written && got.size() == big.size() + 3; });
  EXPECT_EQ(got, big + "end");
  EXPECT_EQ(channel.unwritten(), 0U);
}

TEST(FrameChannel, APeerThatAsksAndNeverReadsIsNotReadFrom) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  ChannelLimits limits;
  limits.unwritten_pause = 1024;
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns), nullptr, limits);
  channel.send(std::string(4U << 20U, 'a'));
  put(pair.theirs, frame(1));
  turns.for_a_moment();
  EXPECT_TRUE(record.said.empty());
  std::vector<char> buffer(1U << 20U);
  const auto reader = turns.loop().watch(pair.theirs.get(), Readiness::kRead,
                                         [&] { (void)!::read(pair.theirs.get(), buffer.data(), buffer.size()); });
  turns.until([&] { return !record.said.empty(); });
  EXPECT_EQ(record.said, Said{"frame 1"});
}

TEST(FrameChannel, OverTheSharedBudgetNobodyIsReadUntilAnUnfinishedFrameIsGone) {
  Turns turns;
  InboundBudget budget(64U << 10U);
  Pair greedy = socket_pair();
  Pair modest = socket_pair();
  Record of_greedy;
  Record of_modest;
  ChannelLimits limits;
  limits.frame_time = milliseconds(100);
  FrameChannel first(turns.loop(), std::move(greedy.ours), of_greedy.events(turns), &budget, limits);
  FrameChannel second(turns.loop(), std::move(modest.ours), of_modest.events(turns), &budget, limits);
  put(greedy.theirs, frame(1, 200U << 10U).substr(0, 100U << 10U));
  turns.until([&] { return budget.exhausted(); });
  put(modest.theirs, frame(7));
  turns.until([&] { return !of_modest.said.empty(); });
  EXPECT_EQ(of_greedy.said, Said{"malformed"});
  EXPECT_EQ(of_modest.said, Said{"frame 7"});
  EXPECT_FALSE(budget.exhausted());
}

TEST(FrameChannel, AChannelMayBeDestroyedByWhatItTells) {
  Turns turns;
  Pair pair = socket_pair();
  std::unique_ptr<FrameChannel> channel;
  int frames = 0;
  channel = std::make_unique<FrameChannel>(turns.loop(), std::move(pair.ours),
                                           ChannelEvents{[&](const Frame&) {
                                                           ++frames;
                                                           channel.reset();
                                                           turns.happened();
                                                         },
                                                         {}});
  put(pair.theirs, frame(1) + frame(2));
  turns.until([&] { return frames > 0; });
  turns.for_a_moment();
  EXPECT_EQ(frames, 1);
}

TEST(FrameChannel, APeerThatIsGoneBreaksTheChannelOnce) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  ASSERT_EQ(::shutdown(pair.ours.get(), SHUT_WR), 0);
  ::signal(SIGPIPE, SIG_IGN);
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns));
  channel.send("lost");
  channel.send("lost");
  turns.until([&] { return !record.said.empty(); });
  turns.for_a_moment();
  EXPECT_EQ(record.said, Said{"broken"});
  EXPECT_EQ(channel.unwritten(), 0U);
}

TEST(FrameChannel, WhatAPeerSaidBeforeItWentIsHeardAlsoWhenAWriteToItFails) {
  Turns turns;
  Pair to_peer = socket_pair();
  Pair from_peer = socket_pair();
  Record record;
  ::signal(SIGPIPE, SIG_IGN);
  FrameChannel channel(turns.loop(), std::move(from_peer.ours), std::move(to_peer.ours), record.events(turns));
  to_peer.theirs.reset();
  channel.send("lost");
  put(from_peer.theirs, frame(1));
  turns.until([&] { return record.said.size() == 2; });
  EXPECT_EQ(record.said, (Said{"frame 1", "broken"}));
}

TEST(FrameChannel, TheRestIsReadBeforeAPeersEndIsTold) {
  Turns turns;
  Pair pair = socket_pair();
  Record record;
  FrameChannel channel(turns.loop(), std::move(pair.ours), record.events(turns));
  put(pair.theirs, frame(1, 100) + frame(2, 100));
  channel.read_rest();
  EXPECT_EQ(record.said, (Said{"frame 1", "frame 2"}));
}

}  // namespace
}  // namespace loom::service
