#include "helper/unjailed.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "helper/exec_fault.h"
#include "helper/host_context.h"
#include "helper/kernel.h"
#include "helper/platform.h"
#include "helper/streams.h"
#include "os/child.h"
#include "os/fds.h"
#include "plan/environment.h"

namespace loom::helper {
namespace {

constexpr Duration kLadder = seconds(2);

std::vector<std::string> environment_of(const ExecRequest& request, const std::string& own_path) {
  std::map<std::string, std::string> chosen{{"PATH", own_path}};
  for (const auto& [name, value] : request.env) {
    const auto& allowed = request.policy.env_allow;
    const bool may = std::find(allowed.begin(), allowed.end(), name) != allowed.end();
    if (may && !is_reserved_name(name, request.policy.network.mode)) chosen[name] = value;
  }
  for (const auto& [name, value] : request.own_env) chosen[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : chosen) list.push_back(name + "=" + value);
  return list;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

stage2::ExecFault fault_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return stage2::ExecFault::kNotFound;
    case EACCES:
    case EPERM:
      return stage2::ExecFault::kPermission;
    case ENOEXEC:
      return stage2::ExecFault::kFormat;
    case E2BIG:
      return stage2::ExecFault::kTooBig;
    default:
      return stage2::ExecFault::kOther;
  }
}

class UnjailedExecution final : public Execution {
 public:
  UnjailedExecution(Loop& loop, const HostContext& host, ExecRequest request, ExecEvents events)
      : loop_(loop),
        request_(std::move(request)),
        events_(std::move(events)),
        stdin_(loop, [this](std::uint64_t total) { events_.stdin_consumed(total); }),
        stdout_(loop, request_.policy.limits.output_bytes, deliver(Stream::kStdout)),
        stderr_(loop, request_.policy.limits.output_bytes, deliver(Stream::kStderr)) {
    if (Status started = start(host.path); !started) error_ = started.error();
    if (error_) soon_ = loop_.timer(loop_.now(), [this] { finish(); });
  }
  ~UnjailedExecution() override {
    watch_.reset();
    if (child_.running()) signal_group(SIGKILL);
  }
  UnjailedExecution(const UnjailedExecution&) = delete;
  UnjailedExecution& operator=(const UnjailedExecution&) = delete;

  void write_stdin(std::string data, bool eof) override { stdin_.write(std::move(data), eof); }
  void resize(TtySize /*size*/) override {}  // there is no terminal to resize
  void allow_output(Stream stream, std::uint64_t upto) override {
    if (stream != Stream::kStdin) (stream == Stream::kStdout ? stdout_ : stderr_).allow(upto);
  }
  void cancel() override { stop(false); }

 private:
  OutputStream::Deliver deliver(Stream stream) {
    return [this, stream](std::string_view data, std::uint64_t total, bool cut) {
      events_.output(stream, data, total, cut);
    };
  }
  [[nodiscard]] Status start(const std::string& own_path);
  [[noreturn]] void become(const std::array<int, 3>& streams, int fault, std::vector<std::string>& env);
  void signal_group(int number) const { ::kill(-pid_, number); }
  void stop(bool by_clock);
  void on_end();
  void finish();

  Loop& loop_;
  ExecRequest request_;
  ExecEvents events_;
  pid_t pid_ = -1;
  OwnedChild child_;
  Loop::Watch watch_;
  InputStream stdin_;
  OutputStream stdout_;
  OutputStream stderr_;
  Loop::Timer wall_;
  Loop::Timer ladder_;
  Loop::Timer soon_;
  std::optional<Error> error_;
  TimePoint started_{};
  int status_ = 0;
  bool cancelled_ = false;
  bool timed_out_ = false;
};

void UnjailedExecution::become(const std::array<int, 3>& streams, int fault, std::vector<std::string>& env) {
  ::setsid();
  for (int i = 0; i < 3; ++i) ::dup2(streams.at(static_cast<std::size_t>(i)), i);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> argv = pointers(request_.argv);
  std::vector<char*> variables = pointers(env);
  int error = 0;
  if (::chdir(request_.cwd.c_str()) != 0) {
    error = -errno;
  } else {
    ::execvpe(argv[0], argv.data(), variables.data());
    error = errno;
  }
  (void)!::write(fault, &error, sizeof error);
  ::_exit(127);
}

Status UnjailedExecution::start(const std::string& own_path) {
  if (request_.demand == Demand::kFull) {
    return fail("layer_refused", "", std::string("missing jail: ") + kNoJailReason, "ask with --demand platform");
  }
  if (request_.tty) return fail("spawn_failed", "tty", "there is no terminal where there is no jail");
  LOOM_TRY(PipeEnds in, make_pipe(HelperEnd::kWrite, ::geteuid()));
  LOOM_TRY(PipeEnds out, make_pipe(HelperEnd::kRead, ::geteuid()));
  LOOM_TRY(PipeEnds err, make_pipe(HelperEnd::kRead, ::geteuid()));
  std::array<int, 2> fault{-1, -1};
  if (::pipe2(fault.data(), O_CLOEXEC) != 0) return fail(kernel_error("exec", "make a pipe", errno));
  UniqueFd said(fault[0]);
  UniqueFd says(fault[1]);
  std::vector<std::string> env = environment_of(request_, own_path);
  UniqueFd pidfd;
  const long pid = clone_process(0, pidfd);
  if (pid == 0) become({in.read.get(), out.write.get(), err.write.get()}, says.get(), env);
  if (pid < 0) return fail(kernel_error("command", "start it", static_cast<int>(-pid)));
  pid_ = static_cast<pid_t>(pid);
  child_ = OwnedChild(std::move(pidfd));
  says.reset();
  int error = 0;
  if (::read(said.get(), &error, sizeof error) == static_cast<ssize_t>(sizeof error)) {
    child_.end();
    stage2::ExecFailed failed{};
    failed.fault = error < 0 ? stage2::ExecFault::kCwd : fault_of(error);
    failed.error = std::abs(error);
    (error < 0 ? request_.cwd : request_.argv[0]).copy(failed.path, sizeof failed.path - 1);
    return fail(explain_exec(failed));
  }
  stdin_.open(std::move(in.write), false);
  stdout_.open(std::move(out.read));
  stderr_.open(std::move(err.read));
  started_ = loop_.now();
  watch_ = loop_.watch(child_.pidfd(), Readiness::kRead, [this] { on_end(); });
  if (const std::uint64_t wall = request_.policy.limits.wall_s; wall != 0) {
    wall_ = loop_.timer(started_ + seconds(static_cast<std::int64_t>(std::min<std::uint64_t>(wall, 1U << 30U))),
                        [this] { stop(true); });
  }
  return {};
}

void UnjailedExecution::stop(bool by_clock) {
  if (cancelled_ || !child_.running()) return;
  cancelled_ = true;
  timed_out_ = by_clock;
  signal_group(SIGTERM);
  signal_group(SIGCONT);
  ladder_ = loop_.timer(loop_.now() + kLadder, [this] { signal_group(SIGKILL); });
}

void UnjailedExecution::on_end() {
  const std::optional<int> status = child_.try_reap();
  if (!status) return;
  watch_.reset();
  status_ = *status;
  signal_group(SIGKILL);  // what it left in its group
  soon_ = loop_.timer(loop_.now(), [this] { finish(); });
}

void UnjailedExecution::finish() {
  if (error_) {
    const auto failed = std::move(events_.failed);
    return failed(*error_);
  }
  stdin_.close();
  stdout_.drain();
  stderr_.drain();
  stdout_.close();
  stderr_.close();
  ExecExit record;
  record.signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  record.code = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  record.stdout_bytes = stdout_.delivered();
  record.stderr_bytes = stderr_.delivered();
  record.stdout_truncated = stdout_.truncated();
  record.stderr_truncated = stderr_.truncated();
  record.enforcement = {skip_entry(layer::kJail, kNoJailReason)};
  record.degraded = true;
  record.wall_ms = static_cast<std::uint64_t>(to_ms(loop_.now() - started_));
  record.timed_out = timed_out_;
  record.cancelled = cancelled_;
  const auto exited = std::move(events_.exited);
  exited(record);
}

}  // namespace

std::unique_ptr<Execution> start_unjailed(Loop& loop, const HostContext& host, ExecRequest request, ExecEvents events) {
  return std::make_unique<UnjailedExecution>(loop, host, std::move(request), std::move(events));
}

}  // namespace loom::helper
