// Plays a helper whose executions do what their own words say: each word of an exec_start's argv is one act. Up to
// `capacity` executions act side by side, so that many clients can be served faults and honest work by one helper.
//   acting_helper serve [--capacity N] ...      (a broker's other arguments are ignored)
//
//   out:TEXT err:TEXT     exec_out            pour:N     N bytes of stdout within the credit, as it is granted
//   flood                 stdout within the credit until the cancel; then the next act
//   wait                  until the cancel; then the next act        hang   for ever, whatever comes
//   cat                   echoes stdin to its end                    ms:N   a pause
//   exit:N                exec_exit as of a whole jail (cancelled when it was)
//   bare:N degraded:N skipped:N                 exec_exit that is short of what was demanded
//   refuse:CODE           error for the execution; fault:CODE the same with id 0
//   crash stop leave:N eof                      SIGKILL, SIGSTOP, exit N, a closed stdout
//   raw:HEX cut huge kind:KIND stray:KIND hello overrun badsum beat unknown   frames that may not be (see below)
//   orphan                leaves a process behind, a minute at most
//
// ACTING in the environment, words for the helper itself: mute (never says hello), proto:N, tags:A,B, keep (ignores
// shutdown), late:N (exits N after shutdown), early (exits 0 after its first exec_exit), gone (exits before hello).
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/version.h"
#include "test/support/frame_port.h"
#include "test/support/vectors.h"
#include "test/support/whole_jail.h"
#include "wire/cancel.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_exit.h"
#include "wire/exec_hello.h"
#include "wire/exec_out.h"
#include "wire/exec_start.h"
#include "wire/exec_stdin.h"

namespace {

using loom::Stream;
using loom::Value;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWindow = 1U << 20U;
constexpr std::size_t kChunk = 65'536;

enum class Block { kNone, kCancel, kEver, kCredit, kStdin, kTime };

struct Acting {
  std::deque<std::string> acts;
  Block block = Block::kNone;
  bool cancelled = false;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  std::uint64_t out_upto = kWindow;
  std::uint64_t left = 0;  // of a pour; of a flood: for ever
  bool floods = false;
  std::uint64_t stdin_bytes = 0;
  Clock::time_point until;
};

class Helper {
 public:
  Helper(std::uint64_t capacity, const std::string& modes) : capacity_(capacity) {
    std::istringstream words(modes);
    for (std::string word; words >> word;) {
      const auto colon = word.find(':');
      modes_[word.substr(0, colon)] = colon == std::string::npos ? "" : word.substr(colon + 1);
    }
  }
  [[noreturn]] void live();

 private:
  void say(std::uint64_t id, std::string_view kind, const Value& body) { (void)port_.send(id, kind, body); }
  void say_hello() {
    loom::ExecHello hello{loom::kExecProto, "acting-helper/1", loom::test::whole_jail(), capacity_};
    if (modes_.count("proto") != 0) hello.proto = std::stoull(modes_["proto"]);
    if (modes_.count("tags") != 0) {
      hello.features.clear();
      std::istringstream tags(modes_["tags"]);
      for (std::string tag; std::getline(tags, tag, ',');) hello.features.push_back(tag);
    }
    say(0, "hello", loom::encode(hello));
  }
  void on_frame(const loom::Frame& frame);
  void go_on(std::uint64_t id);
  bool act(std::uint64_t id, Acting& run, const std::string& word);  // false: the execution is over
  void put(std::uint64_t id, Acting& run, Stream stream, std::string data) {
    std::uint64_t& bytes = stream == Stream::kStdout ? run.out_bytes : run.err_bytes;
    bytes += data.size();
    say(id, "exec_out", loom::encode(loom::ExecOut{stream, std::move(data), bytes, false}));
  }
  void pour(std::uint64_t id, Acting& run);
  void end(std::uint64_t id, Acting& run, int code, std::vector<std::string> tags, bool degraded);
  void misbehave(std::uint64_t id, Acting& run, const std::string& name, const std::string& value);
  [[noreturn]] void leave();
  [[nodiscard]] int wait_ms() const;
  void wake();

  std::uint64_t capacity_;
  std::map<std::string, std::string> modes_;
  loom::test::FramePort port_{0, 1};
  std::map<std::uint64_t, Acting> runs_;
  std::uint64_t next_id_ = 1'000'000;
};

void Helper::end(std::uint64_t id, Acting& run, int code, std::vector<std::string> tags, bool degraded) {
  loom::ExecExit exit;
  exit.code = code;
  exit.stdout_bytes = run.out_bytes;
  exit.stderr_bytes = run.err_bytes;
  exit.enforcement = std::move(tags);
  exit.degraded = degraded;
  exit.wall_ms = 1;
  exit.cancelled = run.cancelled;
  say(id, "exec_exit", loom::encode(exit));
  if (modes_.count("early") != 0) std::_Exit(0);
}

void Helper::pour(std::uint64_t id, Acting& run) {
  while (run.left > 0 && run.out_bytes < run.out_upto) {
    std::uint64_t size = std::min<std::uint64_t>(kChunk, run.out_upto - run.out_bytes);
    if (!run.floods) size = std::min(size, run.left);
    put(id, run, Stream::kStdout, std::string(size, 'x'));
    if (!run.floods) run.left -= size;
  }
  if (run.left == 0) run.block = Block::kNone;
}

// Frames that may not be. stray: for an execution that is not there.
void Helper::misbehave(std::uint64_t id, Acting& run, const std::string& name, const std::string& value) {
  const auto body_of = [&](const std::string& kind) {
    if (kind == "exec_exit") return loom::encode(loom::ExecExit{});
    if (kind == "exec_out") return loom::encode(loom::ExecOut{Stream::kStdout, "late", 4, false});
    return Value(loom::Map{});
  };
  if (name == "raw") (void)port_.send_bytes(loom::test::from_hex(value));
  if (name == "huge") (void)port_.send_bytes(loom::test::from_hex("01000001"));
  if (name == "cut") {
    (void)port_.send_bytes(loom::test::from_hex("0000004081a1"));
    ::raise(SIGKILL);
  }
  if (name == "kind") say(id, value, body_of(value));
  if (name == "stray") say(id + 1000, value, body_of(value));
  if (name == "hello") say_hello();
  if (name == "beat") say(next_id_++, "heartbeat", Value(loom::Map{}));
  if (name == "unknown") say(next_id_++, "exec_dance", Value(loom::Map{}));
  if (name == "badsum") {
    say(id, "exec_out", loom::encode(loom::ExecOut{Stream::kStdout, "x", run.out_bytes + 7, false}));
  }
  if (name == "overrun") {
    for (std::uint64_t sent = 0; sent <= kWindow; sent += kChunk)
      put(id, run, Stream::kStdout, std::string(kChunk, 'x'));
  }
}

bool Helper::act(std::uint64_t id, Acting& run, const std::string& word) {
  const auto colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
  if (name == "out") {
    put(id, run, Stream::kStdout, value);
  } else if (name == "err") {
    put(id, run, Stream::kStderr, value);
  } else if (name == "pour" || name == "flood") {
    run.floods = name == "flood";
    run.left = run.floods ? 1 : std::stoull(value);
    run.block = Block::kCredit;
    pour(id, run);
  } else if (name == "wait") {
    if (!run.cancelled) run.block = Block::kCancel;
  } else if (name == "hang") {
    run.block = Block::kEver;
  } else if (name == "cat") {
    run.block = Block::kStdin;
  } else if (name == "ms") {
    run.block = Block::kTime;
    run.until = Clock::now() + std::chrono::milliseconds(std::stoul(value));
  } else if (name == "exit") {
    end(id, run, std::stoi(value), loom::test::whole_jail(), false);
    return !run.acts.empty();
  } else if (name == "bare") {
    end(id, run, std::stoi(value), {}, false);
  } else if (name == "degraded") {
    end(id, run, std::stoi(value), loom::test::whole_jail(), true);
  } else if (name == "skipped") {
    auto tags = loom::test::whole_jail();
    tags[4] = "skip:landlock: not today";
    end(id, run, std::stoi(value), std::move(tags), false);
  } else if (name == "refuse" || name == "fault") {
    say(name == "refuse" ? id : 0, "error", loom::encode(loom::ErrorMessage{value, "as told"}));
  } else if (name == "crash") {
    ::raise(SIGKILL);
  } else if (name == "stop") {
    ::raise(SIGSTOP);
  } else if (name == "leave") {
    std::_Exit(std::stoi(value));
  } else if (name == "eof") {
    ::close(1);
  } else if (name == "orphan") {
    if (::fork() == 0) {
      ::setsid();
      for (const int held : {0, 1, 2}) ::close(held);
      ::alarm(60);
      while (true) ::pause();
    }
  } else {
    misbehave(id, run, name, value);
  }
  return true;
}

void Helper::go_on(std::uint64_t id) {
  const auto at = runs_.find(id);
  if (at == runs_.end()) return;
  Acting& run = at->second;
  while (run.block == Block::kNone) {
    if (run.acts.empty()) {
      runs_.erase(at);
      return;
    }
    const std::string word = std::move(run.acts.front());
    run.acts.pop_front();
    if (act(id, run, word)) continue;
    runs_.erase(at);
    return;
  }
}

void Helper::leave() {
  if (modes_.count("keep") != 0) {
    while (true) ::pause();
  }
  std::_Exit(modes_.count("late") != 0 ? std::stoi(modes_["late"]) : 0);
}

void Helper::on_frame(const loom::Frame& frame) {
  if (frame.kind == "shutdown") leave();
  if (frame.kind == "heartbeat") return say(frame.id, "heartbeat", Value(loom::Map{}));
  if (frame.kind == "exec_start") {
    const auto start = loom::decode_exec_start(frame.body);
    if (!start) std::_Exit(9);
    runs_[frame.id].acts = {start->argv.begin(), start->argv.end()};
    return go_on(frame.id);
  }
  if (frame.kind == "cancel") {
    const auto cancel = loom::decode_cancel(frame.body);
    const auto at = cancel ? runs_.find(cancel->target) : runs_.end();
    if (at == runs_.end()) return;
    Acting& run = at->second;
    if (run.block == Block::kEver) return;
    run.cancelled = true;
    run.block = Block::kNone;
    return go_on(at->first);
  }
  if (frame.kind == "exec_credit") {
    const auto credit = loom::decode_exec_credit(frame.body);
    const auto at = credit && credit->stream == Stream::kStdout ? runs_.find(credit->target) : runs_.end();
    if (at == runs_.end()) return;
    at->second.out_upto = std::max(at->second.out_upto, credit->upto);
    if (at->second.block == Block::kCredit) pour(at->first, at->second);
    return go_on(at->first);
  }
  if (frame.kind == "exec_stdin") {
    auto input = loom::decode_exec_stdin(frame.body);
    const auto at = input ? runs_.find(input->target) : runs_.end();
    if (at == runs_.end() || at->second.block != Block::kStdin) return;
    Acting& run = at->second;
    run.stdin_bytes += input->data.size();
    if (!input->data.empty()) put(at->first, run, Stream::kStdout, std::move(input->data));
    say(next_id_++, "exec_credit",
        loom::encode(loom::ExecCredit{at->first, Stream::kStdin, run.stdin_bytes + kWindow}));
    if (input->eof) run.block = Block::kNone;
    return go_on(at->first);
  }
}

int Helper::wait_ms() const {
  std::optional<Clock::time_point> next;
  for (const auto& [id, run] : runs_) {
    if (run.block == Block::kTime && (!next || run.until < *next)) next = run.until;
  }
  if (!next) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*next - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left) + 1;
}

void Helper::wake() {
  std::vector<std::uint64_t> due;
  for (auto& [id, run] : runs_) {
    if (run.block != Block::kTime || run.until > Clock::now()) continue;
    run.block = Block::kNone;
    due.push_back(id);
  }
  for (const std::uint64_t id : due) go_on(id);
}

void Helper::live() {
  if (modes_.count("gone") != 0) std::_Exit(7);
  if (modes_.count("mute") == 0) say_hello();
  while (true) {
    const int patience = wait_ms();
    loom::Frame frame;
    switch (port_.next(frame, patience < 0 ? 3'600'000 : patience)) {
      case loom::test::Arrival::kFrame:
        on_frame(frame);
        break;
      case loom::test::Arrival::kTimeout:
        break;
      case loom::test::Arrival::kEnd:
      case loom::test::Arrival::kMalformed:
        // The broker is gone: whatever the mode, nobody is left to be kept from.
        std::_Exit(0);
    }
    wake();
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t capacity = 4;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--capacity") capacity = std::stoull(argv[i + 1]);
  }
  ::signal(SIGPIPE, SIG_IGN);
  const char* modes = std::getenv("ACTING");
  Helper(capacity, modes == nullptr ? "" : modes).live();
}
