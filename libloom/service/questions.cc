#include "service/questions.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/version.h"
#include "os/fds.h"
#include "os/loop.h"
#include "policy/decode.h"
#include "wire/error.h"

namespace loom::service {

AskedChild::~AskedChild() {
  child_.to_child.reset();
  child_.from_child.reset();
  pollfd ended{child_.pidfd.get(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(to_ms(kPatience))) != 1) ::kill(child_.pid, SIGKILL);
  while (::waitpid(child_.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

AnswerReader::AnswerReader(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), until_(monotonic_now() + kPatience) {}

Result<Frame> AnswerReader::next() {
  for (;;) {
    auto frame = deframer_.next();
    if (!frame) return fail(std::move(frame).error().context(name_));
    if (*frame) return std::move(**frame);
    LOOM_CHECK(read_some());
  }
}

Status AnswerReader::read_some() {
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

Result<Frame> AnswerReader::expect(Kind kind) {
  LOOM_TRY(Frame frame, next());
  const auto got = parse_kind(frame.kind);
  if (got == kind) return frame;
  if (got == Kind::kError) {
    LOOM_TRY(const ErrorMessage error, decode_error(frame.body));
    return fail(error.code, name_, error.msg);
  }
  return fail("protocol_violation", name_, "sent " + frame.kind + " where " + std::string(to_text(kind)) + " was due");
}

Status same_protocol(const std::string& peer, const std::string& self, const char* what, std::uint64_t theirs,
                     std::uint64_t ours) {
  if (theirs == ours) return {};
  return fail("proto_mismatch", peer,
              std::string("speaks ") + what + " protocol " + std::to_string(theirs) + ", this " + self + " " +
                  std::to_string(ours) + ": " + (theirs < ours ? peer : self) + " is behind");
}

Result<ExecHello> ask_helper(const std::string& program, const std::string& self,
                             const std::vector<std::string>& flags) {
  // Nothing will run: any sound policy does, and this one asks for nothing.
  LOOM_TRY(const UniqueFd policy, sealed_memfd(render_policy_msgpack(Policy{})));
  SpawnRequest request{program, {"serve"}, policy.get()};
  request.args.insert(request.args.end(), flags.begin(), flags.end());
  auto child = spawn_child(request);
  if (!child) return fail(std::move(child).error());
  const AskedChild asked(std::move(*child));
  AnswerReader reader(asked.answers(), program);
  LOOM_TRY(const Frame frame, reader.expect(Kind::kHello));
  auto hello = decode_exec_hello(frame.body);
  if (!hello) return fail(std::move(hello).error().context(program));
  LOOM_CHECK(same_protocol(program, self, "exec", hello->proto, kExecProto));
  return hello;
}

Result<std::string> ask_output(const std::string& program, const std::vector<std::string>& args) {
  constexpr std::size_t kMost = 1U << 20U;
  SpawnRequest request{"/bin/sh", {"-c", "exec \"$0\" \"$@\" 2>/dev/null", program}};
  request.args.insert(request.args.end(), args.begin(), args.end());
  auto child = spawn_child(request);
  if (!child) return fail(std::move(child).error());
  const AskedChild asked(std::move(*child));
  return read_to_end(asked.answers(), kMost, static_cast<int>(to_ms(kPatience)), program);
}

Result<std::string> ask_version(const std::string& program) {
  auto child = spawn_child({program, {"--version"}});
  if (!child) return fail(std::move(child).error());
  const AskedChild asked(std::move(*child));
  LOOM_TRY(const std::string line, read_to_end(asked.answers(), 4096, static_cast<int>(to_ms(kPatience)), program));
  // "loom-exec 0.1.0 (wire ...".
  const std::size_t begin = line.find(' ');
  const std::size_t end = line.find(' ', begin + 1);
  if (begin == std::string::npos || end == std::string::npos)
    return fail("bad_answer", program, "--version tells no version");
  return line.substr(begin + 1, end - begin - 1);
}

std::string own_directory() {
  std::error_code fault;
  return std::filesystem::read_symlink("/proc/self/exe", fault).parent_path().string();
}

std::string helper_program(const std::optional<std::string>& flag) {
  if (flag) return *flag;
  const char* named = std::getenv("LOOM_EXEC_HELPER");
  return named != nullptr && *named != '\0' ? std::string(named) : own_directory() + "/loom-exec";
}

}  // namespace loom::service
