// The shell of `serve` over real pipes, with an engine that has no jail: a peer in a thread of its own speaks to it.
#include "helper/serve.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/version.h"
#include "os/unique_fd.h"
#include "test/support/fake_execution.h"
#include "wire/cancel.h"
#include "wire/empty.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_exit.h"
#include "wire/exec_hello.h"
#include "wire/exec_out.h"
#include "wire/exec_stdin.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kAll = 8 * kMiB;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
  Pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
};

// The other side of the channel, blocking.
class Peer {
 public:
  Peer(UniqueFd to, UniqueFd from) : to_(std::move(to)), from_(std::move(from)) {}

  bool send_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(to_.get(), bytes.data(), bytes.size());
      if (put <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }
  bool send(std::uint64_t id, Kind kind, const Value& body) {
    return send_bytes(encode_frame(id, to_text(kind), body));
  }
  void hello() {
    (void)read();  // the helper's own
    (void)send(0, Kind::kHello, encode(ExecHello{kExecProto, "peer", {}, 0}));
  }
  void start(std::uint64_t id, std::vector<std::string> argv) {
    ExecStart start;
    start.argv = std::move(argv);
    start.cwd = "/";
    start.token = "t";
    (void)send(id, Kind::kExecStart, encode(start));
  }
  // The next frame; nothing at the end of file.
  std::optional<Frame> read() {
    for (;;) {
      auto next = deframer_.next();
      if (!next) return std::nullopt;
      if (*next) return std::move(**next);
      char buffer[65536];
      const ssize_t got = ::read(from_.get(), buffer, sizeof buffer);
      if (got <= 0) return std::nullopt;
      deframer_.feed(std::string_view(buffer, static_cast<std::size_t>(got)));
    }
  }
  // Reads until a frame of this kind comes.
  std::optional<Frame> read_until(Kind kind) {
    for (;;) {
      auto frame = read();
      if (!frame || frame->kind == to_text(kind)) return frame;
      skipped.push_back(std::move(*frame));
    }
  }
  void close_writing() { to_.reset(); }
  void close_reading() { from_.reset(); }
  [[nodiscard]] int writing() const { return to_.get(); }
  std::vector<Frame> skipped;

 private:
  UniqueFd to_;
  UniqueFd from_;
  Deframer deframer_;
};

struct Served {
  int status = -1;
  test::FakeEngine engine;
};

Served serve_with(const std::function<void(Peer&, Served&)>& talk) {
  // As prepare_process does for every tool: a write to a pipe nobody reads is an error, not a signal.
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in;
  Pipe out;
  Served served;
  Peer peer(std::move(in.write), std::move(out.read));
  Loop loop;
  ServeSettings settings;
  settings.peer = "loom-exec/test";
  settings.base = Policy{};
  std::thread talker([&] { talk(peer, served); });
  served.status =
      serve(loop, std::move(settings), in.read.get(), out.write.get(),
            [&](ExecRequest request, ExecEvents events) -> std::unique_ptr<Execution> {
              return std::make_unique<test::FakeExecution>(loop, served.engine, std::move(request), std::move(events));
            });
  in.read.reset();
  out.write.reset();
  talker.join();
  return served;
}

TEST(Serve, AnExecutionIsStartedFedReadAndReported) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    peer.start(1, {"echo"});
    (void)peer.send(2, Kind::kExecStdin, encode(ExecStdin{1, "hello ", false}));
    (void)peer.send(3, Kind::kExecStdin, encode(ExecStdin{1, "world", true}));
    const auto exit = peer.read_until(Kind::kExecExit);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->id, 1U);
    std::string text;
    for (const auto& frame : peer.skipped) {
      if (frame.kind == "exec_out") text += decode_exec_out(frame.body)->data;
    }
    EXPECT_EQ(text, "hello world");
    EXPECT_EQ(decode_exec_exit(exit->body)->stdout_bytes, text.size());
    (void)peer.send(4, Kind::kShutdown, encode_empty());
    EXPECT_FALSE(peer.read()) << "end of file, nothing more";
  });
  EXPECT_EQ(served.status, 0);
  EXPECT_EQ(served.engine.destroyed, 1);
}

TEST(Serve, FramesMayComeByteByByte) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    for (const char byte : encode_frame(5, "heartbeat", encode_empty()))
      (void)peer.send_bytes(std::string_view(&byte, 1));
    const auto echo = peer.read();
    ASSERT_TRUE(echo);
    EXPECT_EQ(echo->kind, "heartbeat");
    EXPECT_EQ(echo->id, 5U);
    peer.close_writing();
  });
  EXPECT_EQ(served.status, 0);
}

TEST(Serve, AMalformedFrameIsAnsweredTheChannelClosedAndTheWorkBesideItEnded) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    peer.start(1, {"wait"});
    (void)peer.send_bytes(std::string("\0\0\0\1\xc1", 5));
    const auto error = peer.read_until(Kind::kError);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->id, 0U);
    EXPECT_EQ(decode_error(error->body)->code, "malformed_frame");
    EXPECT_FALSE(peer.read());
  });
  EXPECT_EQ(served.status, 1);
  EXPECT_EQ(served.engine.cancels, 1);
  EXPECT_EQ(served.engine.destroyed, 1);
}

TEST(Serve, EndOfFileInsideAFrameLeavesWithOne) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    (void)peer.send_bytes(std::string("\0\0", 2));
    peer.close_writing();
    const auto error = peer.read_until(Kind::kError);
    ASSERT_TRUE(error);
    EXPECT_EQ(decode_error(error->body)->code, "malformed_frame");
  });
  EXPECT_EQ(served.status, 1);
}

TEST(Serve, APeerThatGrantsWithoutReadingCostsOneWindow) {
  const Served served = serve_with([](Peer& peer, Served& s) {
    peer.hello();
    peer.start(1, {"flood", std::to_string(kAll)});
    (void)peer.send(2, Kind::kExecCredit, encode(ExecCredit{1, Stream::kStdout, UINT64_MAX}));
    (void)peer.send(3, Kind::kHeartbeat, encode_empty());
    // Nothing is read while the pipe is full; the helper stays responsive, so a cancel would still reach it. What it
    // has taken from the command by the time all is read through is what the windows allowed.
    const auto echo = peer.read_until(Kind::kHeartbeat);
    ASSERT_TRUE(echo);
    const auto exit = peer.read_until(Kind::kExecExit);
    ASSERT_TRUE(exit);
    std::uint64_t sum = 0;
    for (const auto& frame : peer.skipped) {
      if (frame.kind == "exec_out") sum += decode_exec_out(frame.body)->data.size();
    }
    EXPECT_EQ(sum, kAll);
    EXPECT_EQ(decode_exec_exit(exit->body)->stdout_bytes, kAll);
    EXPECT_EQ(s.engine.flooded, kAll);
    peer.close_writing();
  });
  EXPECT_EQ(served.status, 0);
}

TEST(Serve, ACancelIsNotHeldUpByOutputThatNobodyReads) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    peer.start(1, {"flood", std::to_string(64 * kMiB)});
    (void)peer.send(2, Kind::kExecCredit, encode(ExecCredit{1, Stream::kStdout, UINT64_MAX}));
    (void)peer.send(3, Kind::kCancel, encode(Cancel{1}));
    const auto exit = peer.read_until(Kind::kExecExit);
    ASSERT_TRUE(exit);
    const auto told = decode_exec_exit(exit->body);
    EXPECT_TRUE(told->cancelled);
    EXPECT_LE(told->stdout_bytes, 3 * kMiB) << "what the pipe and one window hold, not what was granted";
    peer.close_writing();
  });
  EXPECT_EQ(served.status, 0);
}

TEST(Serve, APeerThatAsksAndNeverReadsIsNotReadForEver) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    ASSERT_EQ(::fcntl(peer.writing(), F_SETFL, O_NONBLOCK), 0);
    const std::string frame = encode_frame(1, "heartbeat", encode_empty());
    std::string many;
    while (many.size() < kMiB) many += frame;
    std::uint64_t taken = 0;
    for (;;) {
      pollfd room{peer.writing(), POLLOUT, 0};
      if (::poll(&room, 1, 500) == 0) break;          // it has stopped reading
      const std::size_t from = taken % frame.size();  // go on inside the frame that was cut
      const ssize_t put = ::write(peer.writing(), many.data() + from, many.size() - from);
      ASSERT_GT(put, 0);
      taken += static_cast<std::uint64_t>(put);
      ASSERT_LT(taken, 64 * kMiB) << "answers pile up";
    }
    peer.close_reading();
  });
  EXPECT_EQ(served.status, 0);
}

TEST(Serve, AClosedOutputIsAShutdown) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    peer.start(1, {"wait"});
    (void)peer.send(2, Kind::kHeartbeat, encode_empty());
    (void)peer.read_until(Kind::kHeartbeat);  // it runs
    peer.close_reading();
    (void)peer.send(3, Kind::kHeartbeat, encode_empty());  // whose echo meets the closed pipe
  });
  EXPECT_EQ(served.status, 0);
  EXPECT_EQ(served.engine.cancels, 1);
}

TEST(Serve, ATermSignalIsAShutdownAndAnInterruptIsLeftToThePeer) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    peer.start(1, {"wait"});
    (void)peer.send(2, Kind::kHeartbeat, encode_empty());
    (void)peer.read_until(Kind::kHeartbeat);
    // This thread was made before the signals were blocked; the process as a whole must not take them here.
    sigset_t mask;
    ::sigemptyset(&mask);
    ::sigaddset(&mask, SIGTERM);
    ::sigaddset(&mask, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    ::kill(::getpid(), SIGINT);
    (void)peer.send(3, Kind::kHeartbeat, encode_empty());
    EXPECT_TRUE(peer.read_until(Kind::kHeartbeat)) << "still there";
    ::kill(::getpid(), SIGTERM);
    const auto exit = peer.read_until(Kind::kExecExit);
    ASSERT_TRUE(exit);
    EXPECT_TRUE(decode_exec_exit(exit->body)->cancelled);
  });
  EXPECT_EQ(served.status, 0);
}

TEST(Serve, AfterAnExitTheNextStartIsNeverBusy) {
  const Served served = serve_with([](Peer& peer, Served&) {
    peer.hello();
    for (std::uint64_t id = 1; id <= 4; ++id) peer.start(id, {"wait"});
    for (std::uint64_t round = 0; round < 50; ++round) {
      (void)peer.send(1000 + round, Kind::kCancel, encode(Cancel{round + 1}));
      const auto exit = peer.read_until(Kind::kExecExit);
      ASSERT_TRUE(exit);
      ASSERT_EQ(exit->id, round + 1);
      peer.start(round + 5, {"wait"});
    }
    for (const auto& frame : peer.skipped) EXPECT_NE(frame.kind, "error");
    peer.close_writing();
    while (peer.read()) {
    }
  });
  EXPECT_EQ(served.status, 0);
  EXPECT_EQ(served.engine.started, 54);
  EXPECT_EQ(served.engine.destroyed, 54);
}

}  // namespace
}  // namespace loom::helper
