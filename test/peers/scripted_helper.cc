// Plays a helper on stdin and stdout, by a script: what a broker must withstand. One command a line; "#" begins a
// comment.
//   scripted_helper SCRIPT [ARGUMENTS...]      (the arguments are ignored: a broker adds its own)
//
//   hello [proto=N] [capacity=N] [peer=NAME] [tag=TAG]...   without a tag: the layers of a whole jail
//   expect KIND          the next frame must be of that kind; credit is passed over, and what `ignore` named. An
//   exec_start
//                        becomes the execution that out, exit and error speak of
//   log FILE             every frame that is read from here on, as a line of JSON
//   ignore KIND          passes over frames of that kind from here on
//   out STREAM TEXT      exec_out (\n is a line feed); flood STREAM BYTES sends without regard to credit
//   exit CODE [signal=N] [cancelled] [timed_out] [degraded] [tag=TAG]...     exec_exit; without a tag: as in hello
//   error CODE MSG       error for the execution; fault CODE MSG the same with id 0
//   credit UPTO          exec_credit for its stdin
//   send ID KIND JSON    any frame ({"hex":"00ff"} stands for bytes); ID may be "this", the execution
//   raw HEX              bytes as they are
//   sleep MS             for faults that are about time
//   again                from the line after hello, once more
//   drain                reads to the broker's end or to shutdown (the end of a script does the same, then exits 0)
//   orphan               leaves a child behind, in a session of its own (for a minute at the most)
//   eof                  closes stdout; stuck: reads and answers nothing more; stop: SIGSTOP; crash: SIGKILL; leave N:
//   exit N
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/version.h"
#include "test/support/frame_port.h"
#include "test/support/vectors.h"
#include "test/support/whole_jail.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_exit.h"
#include "wire/exec_hello.h"
#include "wire/exec_out.h"

namespace {

using loom::Stream;
using loom::test::Arrival;

constexpr int kPatienceMs = 20'000;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "scripted_helper: %s\n", why.c_str());
  std::exit(9);
}

std::string rest_of(std::istringstream& line) {
  std::string rest;
  std::getline(line >> std::ws, rest);
  return rest;
}

std::string unescaped(std::string text) {
  for (auto at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at + 1)) text.replace(at, 2, "\n");
  return text;
}

// WORD, or KEY=VALUE, of what is left of a line.
std::multimap<std::string, std::string> words_of(std::istringstream& line) {
  std::multimap<std::string, std::string> words;
  for (std::string word; line >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      words.emplace(word, "");
    } else {
      words.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  return words;
}

class Helper {
 public:
  void run(const std::string& command, std::istringstream& line) {
    if (command == "hello") return hello(words_of(line));
    if (command == "expect") return expect(rest_of(line));
    if (command == "log") return log_.open(rest_of(line), std::ios::app);
    if (command == "ignore") return static_cast<void>(ignored_.insert(rest_of(line)));
    if (command == "out") return out(line);
    if (command == "flood") return flood(line);
    if (command == "exit") return exit_frame(line);
    if (command == "error") return error(line, execution_);
    if (command == "fault") return error(line, 0);
    if (command == "credit") return credit(line);
    if (command == "send") return send(line);
    if (command == "raw") return deliver(loom::test::from_hex(rest_of(line)));
    if (command == "sleep") return pause_for(std::stol(rest_of(line)));
    if (command == "orphan") return orphan();
    if (command == "drain") return drain();
    if (command == "eof") return static_cast<void>(::close(1));
    if (command == "stuck") return stuck();
    if (command == "stop") return static_cast<void>(::raise(SIGSTOP));
    if (command == "crash") return static_cast<void>(::raise(SIGKILL));
    if (command == "leave") std::_Exit(std::stoi(rest_of(line)));
    give_up("no such command: " + command);
  }
  void drain() {
    loom::Frame frame;
    while (next(frame, -1) == Arrival::kFrame && frame.kind != "shutdown") {
    }
  }

 private:
  // A broker that has gone takes nothing more; that is for its own test to judge.
  void deliver(const std::string& bytes) { (void)port_.send_bytes(bytes); }
  void deliver(std::uint64_t id, std::string_view kind, const loom::Value& body) {
    deliver(loom::encode_frame(id, kind, body));
  }

  Arrival next(loom::Frame& frame, int timeout_ms) {
    const Arrival arrival = port_.next(frame, timeout_ms);
    if (arrival == Arrival::kFrame && log_.is_open()) log_ << loom::test::frame_line(frame) << std::endl;
    return arrival;
  }

  static std::vector<std::string> tags_of(const std::multimap<std::string, std::string>& words) {
    std::vector<std::string> tags;
    const auto [first, last] = words.equal_range("tag");
    for (auto it = first; it != last; ++it) tags.push_back(it->second);
    return tags.empty() ? loom::test::whole_jail() : tags;
  }

  void hello(const std::multimap<std::string, std::string>& words) {
    loom::ExecHello greeting{loom::kExecProto, "scripted-helper/" + std::string(loom::kVersion), tags_of(words), 4};
    if (const auto it = words.find("proto"); it != words.end()) greeting.proto = std::stoull(it->second);
    if (const auto it = words.find("capacity"); it != words.end()) greeting.capacity = std::stoull(it->second);
    if (const auto it = words.find("peer"); it != words.end()) greeting.peer = it->second;
    deliver(0, "hello", loom::encode(greeting));
  }

  void expect(const std::string& kind) {
    loom::Frame frame;
    do {
      switch (next(frame, kPatienceMs)) {
        case Arrival::kFrame:
          break;
        case Arrival::kEnd:
          std::exit(0);
        case Arrival::kTimeout:
          give_up("no " + kind + " came");
        case Arrival::kMalformed:
          give_up("a malformed frame came in place of " + kind);
      }
    } while (frame.kind != kind && (frame.kind == "exec_credit" || ignored_.count(frame.kind) != 0));
    if (frame.kind != kind && frame.kind == "shutdown") std::exit(0);
    if (frame.kind != kind) give_up(frame.kind + " came in place of " + kind);
    if (kind == "exec_start") {
      execution_ = frame.id;
      sent_.clear();
    }
    if (kind == "heartbeat") deliver(frame.id, "heartbeat", loom::Value(loom::Map{}));
  }

  void send_out(Stream stream, std::string data) {
    sent_[stream] += data.size();
    deliver(execution_, "exec_out", loom::encode(loom::ExecOut{stream, std::move(data), sent_[stream], false}));
  }
  static Stream stream_of(std::istringstream& line) {
    std::string name;
    Stream stream = Stream::kStdout;
    line >> name;
    if (!loom::parse_stream(name, stream)) give_up("no such stream: " + name);
    return stream;
  }
  void out(std::istringstream& line) {
    const Stream stream = stream_of(line);
    send_out(stream, unescaped(rest_of(line)));
  }
  void flood(std::istringstream& line) {
    const Stream stream = stream_of(line);
    std::size_t left = 0;
    for (line >> left; left > 0;) {
      const std::size_t chunk = left < 65536 ? left : 65536;
      send_out(stream, std::string(chunk, 'x'));
      left -= chunk;
    }
  }

  void exit_frame(std::istringstream& line) {
    loom::ExecExit exit;
    line >> exit.code;
    const auto words = words_of(line);
    if (const auto it = words.find("signal"); it != words.end()) exit.signal = std::stoi(it->second);
    exit.stdout_bytes = sent_[Stream::kStdout];
    exit.stderr_bytes = sent_[Stream::kStderr];
    exit.enforcement = tags_of(words);
    exit.degraded = words.count("degraded") != 0;
    exit.wall_ms = 1;
    exit.timed_out = words.count("timed_out") != 0;
    exit.cancelled = words.count("cancelled") != 0;
    deliver(execution_, "exec_exit", loom::encode(exit));
  }

  void error(std::istringstream& line, std::uint64_t id) {
    loom::ErrorMessage message;
    line >> message.code;
    message.msg = rest_of(line);
    deliver(id, "error", loom::encode(message));
  }

  void credit(std::istringstream& line) {
    loom::ExecCredit message{execution_, Stream::kStdin, 0};
    line >> message.upto;
    deliver(next_id_++, "exec_credit", loom::encode(message));
  }

  void send(std::istringstream& line) {
    std::string id;
    std::string kind;
    line >> id >> kind;
    deliver(id == "this" ? execution_ : std::stoull(id), kind, loom::test::body_of_json(rest_of(line)));
  }

  static void pause_for(long ms) {
    timespec left{ms / 1000, ms % 1000 * 1'000'000};
    while (::nanosleep(&left, &left) != 0) {
    }
  }

  // The alarm: a test that fails must not leave it for ever.
  static void orphan() {
    if (::fork() != 0) return;
    ::setsid();
    for (const int held : {0, 1, 2}) ::close(held);
    ::alarm(60);
    while (true) ::pause();
  }

  [[noreturn]] void stuck() {
    loom::Frame frame;
    while (next(frame, -1) == Arrival::kFrame) {
    }
    while (true) ::pause();  // also after the broker's end: only a signal ends it
  }

  loom::test::FramePort port_{0, 1};
  std::uint64_t execution_ = 0;
  std::uint64_t next_id_ = 1'000'000;
  std::map<Stream, std::uint64_t> sent_;
  std::set<std::string> ignored_;
  std::ofstream log_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) give_up("usage: scripted_helper SCRIPT");
  std::ifstream script(argv[1]);
  if (!script) give_up(std::string("cannot read ") + argv[1]);
  std::vector<std::string> lines;
  for (std::string line; std::getline(script, line);) lines.push_back(line);
  ::signal(SIGPIPE, SIG_IGN);
  Helper helper;
  std::size_t after_hello = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::istringstream line(lines[i]);
    std::string command;
    if (!(line >> command) || command.front() == '#') continue;
    if (command == "again") {
      i = after_hello;
      continue;
    }
    helper.run(command, line);
    if (command == "hello") after_hello = i;
  }
  helper.drain();
  return 0;
}
