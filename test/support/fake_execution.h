// An engine without a jail, for tests of the exec channel alone: executions that do what their argv says, on the loop,
// within the credit they are given.
//   echo       gives stdin back on stdout; ends with 0 at the end of stdin
//   flood N    writes N bytes to stdout as far as it is allowed; ends with 0 after the last
//   wait       ends when it is cancelled, with 143
//   refuse     fails with exec_not_found
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "helper/execution.h"
#include "os/loop.h"

namespace loom::test {

struct FakeEngine {  // what tests look at
  int started = 0;
  int destroyed = 0;
  int cancels = 0;
  std::uint64_t flooded = 0;
};

class FakeExecution : public helper::Execution {
 public:
  FakeExecution(Loop& loop, FakeEngine& engine, helper::ExecRequest request, helper::ExecEvents events)
      : loop_(loop), engine_(engine), request_(std::move(request)), events_(std::move(events)) {
    ++engine_.started;
    if (request_.argv[0] == "flood") left_ = std::stoull(request_.argv.at(1));
    soon();
  }
  ~FakeExecution() override { ++engine_.destroyed; }
  FakeExecution(const FakeExecution&) = delete;
  FakeExecution& operator=(const FakeExecution&) = delete;

  void write_stdin(std::string data, bool eof) override {
    held_ += data;
    eof_ = eof_ || eof;
    soon();
  }
  void resize(TtySize) override {}
  void allow_output(Stream stream, std::uint64_t upto) override {
    if (stream == Stream::kStdout) allowed_ = std::max(allowed_, upto);
    soon();
  }
  void cancel() override {
    ++engine_.cancels;
    cancelled_ = true;
    soon();
  }

 private:
  void soon() {
    if (!ended_ && !turn_) turn_ = loop_.timer(loop_.now(), [this] { turn(); });
  }
  void turn() {
    turn_.reset();
    const std::string& what = request_.argv[0];
    if (what == "refuse") return fail();
    if (cancelled_) return end(143, 15);
    if (what == "flood") return flood();
    if (what == "echo") echo();
  }
  void flood() {
    const std::string chunk(static_cast<std::size_t>(std::min<std::uint64_t>({left_, allowed_ - given_, 256U << 10U})),
                            'f');
    if (!chunk.empty()) give(chunk);
    left_ -= chunk.size();
    engine_.flooded = given_;
    if (left_ == 0) return end(0, 0);
    if (given_ < allowed_) soon();
  }
  void echo() {
    const std::string chunk = held_.substr(0, static_cast<std::size_t>(allowed_ - given_));
    held_.erase(0, chunk.size());
    if (!chunk.empty()) {
      consumed_ += chunk.size();
      give(chunk);
      events_.stdin_consumed(consumed_);
    }
    if (eof_ && held_.empty()) end(0, 0);
  }
  void give(const std::string& chunk) {
    given_ += chunk.size();
    events_.output(Stream::kStdout, chunk, given_, false);
  }
  void end(int code, int signal) {
    ended_ = true;
    ExecExit exit;
    exit.code = code;
    exit.signal = signal;
    exit.cancelled = cancelled_;
    events_.exited(exit);
  }
  void fail() {
    ended_ = true;
    events_.failed(Error{"exec_not_found", "refuse", "no such program", {}});
  }

  Loop& loop_;
  FakeEngine& engine_;
  helper::ExecRequest request_;
  helper::ExecEvents events_;
  Loop::Timer turn_;
  std::string held_;
  std::uint64_t allowed_ = 0;
  std::uint64_t given_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t left_ = 0;
  bool eof_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
};

}  // namespace loom::test
