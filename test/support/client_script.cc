#include "test/support/client_script.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>

#include "base/version.h"
#include "test/support/vectors.h"
#include "wire/cancel.h"
#include "wire/exec_credit.h"
#include "wire/exec_hello.h"
#include "wire/exec_start.h"
#include "wire/exec_stdin.h"
#include "wire/hello.h"

namespace loom::test {
namespace {

constexpr int kPatienceMs = 20'000;

std::string rest_of(std::istringstream& line) {
  std::string rest;
  std::getline(line >> std::ws, rest);
  return rest;
}

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool feed = text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'n';
    out.push_back(feed ? '\n' : text[i]);
    if (feed) ++i;
  }
  return out;
}

class Client {
 public:
  Client(FramePort& port, const ClientHooks& hooks, bool exec_channel)
      : port_(port), hooks_(hooks), exec_channel_(exec_channel) {}

  // True when the command was carried out.
  bool run(const std::string& command, std::istringstream& line) {
    if (command == "hello") return hello(line);
    if (command == "send") return send(line);
    if (command == "with") return with(line);
    if (command == "sh") return start_shell(line);
    if (command == "stdin" || command == "stdin-eof") return feed(line, command == "stdin-eof");
    if (command == "cancel") return cancel(line);
    if (command == "credit") return credit(line);
    if (command == "raw") return port_.send_bytes(from_hex(rest_of(line)));
    if (command == "await") return await(line);
    if (command == "await-output") return await_output(line);
    if (command == "quiet") return quiet(line);
    if (command == "drain") return drain();
    if (command == "eof") return hooks_.end_of_input(), true;
    if (command == "signal") return hooks_.signal(rest_of(line));
    return false;
  }

 private:
  bool hello(std::istringstream& line) {
    ExecHello greeting{exec_channel_ ? kExecProto : kControlProto, "test-peer/" + std::string(kVersion), {}, 0};
    for (std::string word; line >> word;) {
      const std::uint64_t number = std::stoull(word.substr(word.find('=') + 1));
      if (word.rfind("proto=", 0) == 0) greeting.proto = number;
      if (word.rfind("capacity=", 0) == 0) greeting.capacity = number;
    }
    if (exec_channel_) return port_.send(0, "hello", encode(greeting));
    return port_.send(0, "hello", encode(Hello{greeting.proto, greeting.peer, {}}));
  }

  bool send(std::istringstream& line) {
    std::uint64_t id = 0;
    std::string kind;
    line >> id >> kind;
    return port_.send(id, kind, body_of_json(rest_of(line)));
  }

  bool with(std::istringstream& line) {
    optional_keys_ = body_of_json(rest_of(line));
    return true;
  }

  bool start_shell(std::istringstream& line) {
    std::uint64_t id = 0;
    ExecStart start;
    line >> id >> start.cwd;
    start.argv = {"/bin/sh", "-c", rest_of(line)};
    start.env = {{"PATH", "/usr/bin:/bin"}};
    start.token = "test token";
    Value body = encode(start);
    for (const auto& member : *optional_keys_.get_if<Map>()) body.get_if<Map>()->push_back(member);
    return port_.send(id, "exec_start", body);
  }

  bool feed(std::istringstream& line, bool eof) {
    ExecStdin input;
    line >> input.target;
    input.eof = eof;
    if (!eof) input.data = unescaped(rest_of(line));
    return port_.send(fresh_id_++, "exec_stdin", encode(input));
  }

  bool cancel(std::istringstream& line) {
    Cancel message;
    line >> message.target;
    return port_.send(fresh_id_++, "cancel", encode(message));
  }

  bool credit(std::istringstream& line) {
    ExecCredit message;
    std::string stream;
    line >> message.target >> stream >> message.upto;
    return parse_stream(stream, message.stream) && port_.send(fresh_id_++, "exec_credit", encode(message));
  }

  Arrival read(Frame& frame, int timeout_ms) {
    const Arrival arrival = port_.next(frame, timeout_ms);
    if (arrival != Arrival::kFrame) return arrival;
    std::printf("%s\n", frame_line(frame).c_str());
    std::fflush(stdout);
    const Value* const stream = frame.body.find("stream");
    const Value* const data = frame.body.find("data");
    if (stream != nullptr && data != nullptr && *stream == Value("stdout")) {
      if (const auto* bytes = data->get_if<Binary>()) output_[frame.id] += bytes->bytes;
    }
    return arrival;
  }

  template <class Done>
  bool read_until(Done done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    Frame frame;
    do {
      if (read(frame, kPatienceMs) != Arrival::kFrame) return false;
      if (done(frame)) return true;
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  bool await(std::istringstream& line) {
    std::string kind;
    std::uint64_t id = 0;
    line >> kind;
    const bool any = !(line >> id);
    return read_until([&](const Frame& frame) { return frame.kind == kind && (any || frame.id == id); });
  }

  bool await_output(std::istringstream& line) {
    std::uint64_t id = 0;
    line >> id;
    const std::string text = unescaped(rest_of(line));
    const auto there = [&] { return output_[id].find(text) != std::string::npos; };
    return there() || read_until([&](const Frame&) { return there(); });
  }

  bool quiet(std::istringstream& line) {
    int ms = 0;
    line >> ms;
    Frame frame;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      const Arrival arrival = read(frame, left.count() > 0 ? static_cast<int>(left.count()) : 0);
      if (arrival != Arrival::kFrame) return arrival == Arrival::kTimeout;
    }
  }

  bool drain() {
    Frame frame;
    while (true) {
      const Arrival arrival = read(frame, kPatienceMs);
      if (arrival != Arrival::kFrame) return arrival == Arrival::kEnd;
    }
  }

  FramePort& port_;
  const ClientHooks& hooks_;
  bool exec_channel_;
  std::uint64_t fresh_id_ = 1000;
  Value optional_keys_{Map{}};
  std::map<std::uint64_t, std::string> output_;
};

}  // namespace

int run_client_script(std::istream& script, FramePort& port, const ClientHooks& hooks, bool exec_channel) {
  Client client(port, hooks, exec_channel);
  for (std::string text; std::getline(script, text);) {
    std::istringstream line(text);
    std::string command;
    if (!(line >> command) || command.front() == '#') continue;
    if (client.run(command, line)) continue;
    std::fprintf(stderr, "not carried out: %s\n", text.c_str());
    return 3;
  }
  return 0;
}

}  // namespace loom::test
