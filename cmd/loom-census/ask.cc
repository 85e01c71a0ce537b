#include "ask.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/version.h"
#include "os/fds.h"
#include "os/loop.h"
#include "os/socket.h"
#include "os/spawn.h"
#include "policy/decode.h"
#include "wire/error.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/kinds.h"
#include "wire/ok.h"

namespace loom::census {
namespace {

constexpr Duration kPatience = seconds(5);

// A child that is gone, whatever it does, when this goes: it gets `patience` to end by itself first.
class Asked {
 public:
  explicit Asked(SpawnedChild child) : child_(std::move(child)) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    child_.to_child.reset();
    child_.from_child.reset();
    pollfd ended{child_.pidfd.get(), POLLIN, 0};
    if (::poll(&ended, 1, static_cast<int>(to_ms(kPatience))) != 1) ::kill(child_.pid, SIGKILL);
    while (::waitpid(child_.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  [[nodiscard]] const SpawnedChild& child() const { return child_; }

 private:
  SpawnedChild child_;
};

// The frames a peer sends, one at a time.
class Frames {
 public:
  Frames(int fd, std::string name) : fd_(fd), name_(std::move(name)), until_(monotonic_now() + kPatience) {}

  Result<Frame> next() {
    for (;;) {
      auto frame = deframer_.next();
      if (!frame) return fail(std::move(frame).error().context(name_));
      if (*frame) return std::move(**frame);
      LOOM_CHECK(read_some());
    }
  }

 private:
  Status read_some() {
    const auto left = to_ms(until_ - monotonic_now());
    pollfd ready{fd_, POLLIN, 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0)
      return fail("no_answer", name_, "no answer in five seconds");
    char bytes[65536];
    const ssize_t got = ::read(fd_, bytes, sizeof bytes);
    if (got > 0) deframer_.feed({bytes, static_cast<std::size_t>(got)});
    if (got == 0) return fail("no_answer", name_, "ended without an answer");
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      return fail("no_answer", name_, "cannot read: " + errno_text(errno));
    return {};
  }

  int fd_;
  std::string name_;
  TimePoint until_;
  Deframer deframer_;
};

Result<Frame> expect(Frames& frames, Kind kind, const std::string& name) {
  LOOM_TRY(Frame frame, frames.next());
  const auto got = parse_kind(frame.kind);
  if (got == kind) return frame;
  if (got == Kind::kError) {
    LOOM_TRY(const ErrorMessage error, decode_error(frame.body));
    return fail(error.code, name, error.msg);
  }
  return fail("protocol_violation", name, "sent " + frame.kind + " where " + std::string(to_text(kind)) + " was due");
}

Status same_protocol(const std::string& name, const char* what, std::uint64_t theirs, std::uint64_t ours) {
  if (theirs == ours) return {};
  return fail("proto_mismatch", name,
              std::string("speaks ") + what + " protocol " + std::to_string(theirs) + ", this loom-census " +
                  std::to_string(ours) + ": " + (theirs < ours ? name : "loom-census") + " is behind");
}

}  // namespace

Result<std::string> ask_version(const std::string& program) {
  auto child = spawn_child({program, {"--version"}});
  if (!child) return fail(std::move(child).error());
  const Asked asked(std::move(*child));
  LOOM_TRY(const std::string line,
           read_to_end(asked.child().from_child.get(), 4096, static_cast<int>(to_ms(kPatience)), program));
  // "loom-exec 0.1.0 (wire ...".
  const std::size_t begin = line.find(' ');
  const std::size_t end = line.find(' ', begin + 1);
  if (begin == std::string::npos || end == std::string::npos)
    return fail("bad_answer", program, "--version tells no version");
  return line.substr(begin + 1, end - begin - 1);
}

Result<ExecHello> ask_helper(const std::string& program) {
  // Nothing will run: any sound policy does, and this one asks for nothing.
  LOOM_TRY(const UniqueFd policy, sealed_memfd(render_policy_msgpack(Policy{})));
  auto child = spawn_child({program, {"serve"}, policy.get()});
  if (!child) return fail(std::move(child).error());
  const Asked asked(std::move(*child));
  Frames frames(asked.child().from_child.get(), program);
  LOOM_TRY(const Frame frame, expect(frames, Kind::kHello, program));
  auto hello = decode_exec_hello(frame.body);
  if (!hello) return fail(std::move(hello).error().context(program));
  LOOM_CHECK(same_protocol(program, "exec", hello->proto, kExecProto));
  return hello;
}

Result<broker::Census> ask_broker(const std::string& socket) {
  LOOM_TRY(const UniqueFd fd, connect_unix(socket, kPatience));
  Frames frames(fd.get(), socket);
  LOOM_TRY(const Frame greeting, expect(frames, Kind::kHello, socket));
  LOOM_TRY(const Hello hello, decode_hello(greeting.body));
  LOOM_CHECK(same_protocol(socket, "control", hello.proto, kControlProto));
  const Hello ours{kControlProto, "loom-census/" + std::string(kVersion), {}};
  LOOM_CHECK(write_all(
      fd.get(),
      encode_frame(1, to_text(Kind::kHello), encode(ours)) + encode_frame(2, to_text(Kind::kCensus), Value(Map{})),
      socket));
  LOOM_TRY(const Frame answer, expect(frames, Kind::kOk, socket));
  auto census = broker::decode_census(answer.body);
  if (!census) return fail(std::move(census).error().context(socket));
  return census;
}

}  // namespace loom::census
