#include "service/front.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/exit_status.h"
#include "base/json.h"
#include "cli/output.h"
#include "os/fds.h"
#include "os/file_view.h"
#include "os/signals.h"
#include "os/stdio_pump.h"
#include "os/terminal.h"
#include "service/front_report.h"
#include "service/front_status.h"
#include "service/report_file.h"

namespace loom::service {
namespace {

constexpr std::uint64_t kWindow = kInitialCredit;
// Credit is renewed in steps, so that a trickle of output is not a trickle of frames.
constexpr std::uint64_t kCreditStep = kWindow / 8;

}  // namespace

struct Front::Impl {
  struct Output {
    std::unique_ptr<OutputPump> pump;
    std::uint64_t granted = kWindow;
    bool truncated = false;
  };

  Loop& loop;
  FrontOptions options;
  std::function<void(int)> done;
  UniqueFd report;
  std::array<Output, 2> outputs;  // stdout, stderr
  std::unique_ptr<InputPump> input;
  std::unique_ptr<RawTerminal> terminal;
  std::unique_ptr<Signals> signals;
  CallLink* link = nullptr;
  CallFacts facts;
  std::optional<CallEnd> end;
  std::vector<std::string> notes;
  std::optional<Error> lost_output;  // stdout or stderr could not be written
  std::optional<Error> lost_status;  // the status descriptor could not
  std::uint64_t stdin_upto = kWindow;
  bool closed_pipe = false;
  bool signalled = false;
  bool finished = false;
  std::shared_ptr<Impl*> self = std::make_shared<Impl*>(this);  // what posted work holds weakly

  Impl(Loop& l, FrontOptions o, std::function<void(int)> d) : loop(l), options(std::move(o)), done(std::move(d)) {}

  static int fd_of(Stream stream) { return stream == Stream::kStderr ? STDERR_FILENO : STDOUT_FILENO; }
  Output& of(Stream stream) { return outputs[stream == Stream::kStderr ? 1 : 0]; }

  // Runs later, from the loop: the link is never called from inside a call to the front.
  template <class Deed>
  void later(Deed deed) {
    loop.post([weak = std::weak_ptr<Impl*>(self), deed] {
      if (const auto alive = weak.lock()) ((*alive)->*deed)();
    });
  }

  void open_streams();
  void catch_signals();
  void on_signal(int signal);
  void on_write_error(Stream stream, int error);
  void cancel() const {
    if (link != nullptr && !end) link->cancel();
  }
  void renew_credit();
  void feed();
  void take_input(std::string data, bool eof, int error);
  void finish_when_written() {
    if (end && !finished && of(Stream::kStdout).pump->empty() && of(Stream::kStderr).pump->empty())
      later(&Impl::finish);
  }
  void finish();
  int final_status() const;
  void say(const std::string& text) const { cli::say(options.tool + ": " + cli::escape(text)); }
  void note(std::string text) {
    if (!options.quiet) say(text);
    notes.push_back(std::move(text));
  }
  void write_status_line(const Value& line);
  bool write_report(int status);
};

void Front::Impl::open_streams() {
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    OutputPump::Callbacks callbacks;
    callbacks.progress = [this] {
      later(&Impl::renew_credit);
      finish_when_written();
    };
    callbacks.failed = [this, stream](int error) { on_write_error(stream, error); };
    of(stream).pump = std::make_unique<OutputPump>(loop, fd_of(stream), std::move(callbacks));
  }
}

void Front::Impl::catch_signals() {
  std::vector<int> caught{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
  if (options.tty) caught.push_back(SIGWINCH);
  signals = std::make_unique<Signals>(loop, caught, [this](int signal) { on_signal(signal); });
}

void Front::Impl::on_signal(int signal) {
  if (signal == SIGTSTP) {
    const bool running = link != nullptr && !end;
    if (running) link->pause(true);
    terminal ? terminal->stop_process() : stop_this_process();
    if (running) link->pause(false);
    if (!options.tty) return;
    signal = SIGWINCH;  // the window may have changed meanwhile
  }
  if (signal == SIGWINCH) {
    const auto size = window_size(STDIN_FILENO);
    if (size && link != nullptr && !end) link->resize(TtySize{size->rows, size->cols});
    return;
  }
  if (!signalled && !end) {
    signalled = true;
    return cancel();
  }
  // The second: whoever asked does not want to wait for the ladder, which ends the command without us.
  if (finished) return;
  finished = true;
  terminal.reset();
  done(128 + signal);
}

void Front::Impl::on_write_error(Stream stream, int error) {
  if (error == EPIPE) {
    closed_pipe = true;
  } else if (!lost_output) {
    lost_output = Error{"write_failed",
                        stream == Stream::kStdout ? "stdout" : "stderr",
                        "cannot write the command's output: " + errno_text(error),
                        {}};
  }
  later(&Impl::cancel);
}

void Front::Impl::renew_credit() {
  if (link == nullptr || end) return;
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    Output& out = of(stream);
    const std::uint64_t upto = out.pump->written() + kWindow;
    if (upto < out.granted + kCreditStep) continue;
    out.granted = upto;
    link->allow_output(stream, upto);
  }
}

void Front::Impl::feed() {
  if (link == nullptr || end) return;
  if (!options.feed_stdin) return link->write_stdin({}, true);
  input = std::make_unique<InputPump>(
      loop, STDIN_FILENO, [this](std::string data, bool eof, int error) { take_input(std::move(data), eof, error); });
  input->allow(stdin_upto);
}

void Front::Impl::take_input(std::string data, bool eof, int error) {
  if (end || link == nullptr) return;
  if (error != 0) note("stdin: cannot read: " + errno_text(error));
  link->write_stdin(std::move(data), eof);
}

int Front::Impl::final_status() const {
  if (closed_pipe) return to_int(ExitStatus::kPipe);
  if (lost_output) return to_int(ExitStatus::kMayHaveRun);
  return std::visit([](const auto& e) { return exit_status(e); }, *end);
}

void Front::Impl::write_status_line(const Value& line) {
  if (options.status_fd < 0) return;
  const auto written = write_all(options.status_fd, render_json(line) + "\n", "--status-fd");
  if (written) return;
  // A reader that is gone is no fault: the command is not theirs to stop.
  if (written.error().code != "reader_gone") lost_status = written.error();
  options.status_fd = -1;
}

bool Front::Impl::write_report(int status) {
  if (!report) return true;
  const std::string text = render_json_pretty(render_report(facts, *end, status, notes)) + "\n";
  Status written = take_report_back(report.get(), options.report_file);
  if (written) written = write_all(report.get(), text, options.report_file);
  if (!written) cli::say_error(options.tool, written.error());
  return written.has_value();
}

void Front::Impl::finish() {
  if (finished) return;
  finished = true;
  terminal.reset();
  int status = final_status();
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    if (of(stream).truncated) note(std::string(to_text(stream)) + " was cut at the policy's output_bytes");
  }
  for (std::string& line : ceilings_told(*end)) note(std::move(line));
  if (!options.quiet) {
    for (const std::string& entry : refusals_told(*end)) say(entry);
    for (const std::string& line : egress_told(*end)) say(line);
  }
  for (const auto& error : explain_end(*end)) cli::say_error(options.tool, error);
  if (lost_output) cli::say_error(options.tool, *lost_output);
  const int unreported = std::visit([](const auto& e) { return exit_status_unreported(e); }, *end);
  if (!write_report(status)) status = unreported;
  write_status_line(settled_line(*end, status));
  if (lost_status) {
    cli::say_error(options.tool, *lost_status);
    status = unreported;
  }
  done(status);
}

Front::Front(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Front::~Front() = default;

Result<std::unique_ptr<Front>> Front::open(Loop& loop, FrontOptions options, std::function<void(int status)> done) {
  auto impl = std::make_unique<Impl>(loop, std::move(options), std::move(done));
  const FrontOptions& asked = impl->options;
  if (asked.status_fd >= 0 && !is_open(asked.status_fd)) {
    return fail("bad_argument", "--status-fd", "descriptor " + std::to_string(asked.status_fd) + " is not open");
  }
  if (asked.status_fd >= 0 && (::fcntl(asked.status_fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
    return fail("bad_argument", "--status-fd", "descriptor " + std::to_string(asked.status_fd) + " cannot be written");
  }
  if (!asked.report_file.empty()) {
    LOOM_TRY(impl->report, open_report(asked.report_file, asked.planted));
  }
  impl->catch_signals();
  impl->open_streams();
  return std::unique_ptr<Front>(new Front(std::move(impl)));
}

std::optional<TtySize> Front::tty_size() const {
  if (!impl_->options.tty) return std::nullopt;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (const auto size = window_size(fd)) return TtySize{size->rows, size->cols};
  }
  return TtySize{24, 80};
}

void Front::attach(CallLink& link) {
  impl_->link = &link;
  if (impl_->signalled) impl_->later(&Impl::cancel);
}

void Front::started(CallFacts facts) {
  impl_->facts = std::move(facts);
  impl_->write_status_line(started_line(impl_->facts));
  if (impl_->options.tty) {
    impl_->terminal = RawTerminal::enter(STDIN_FILENO);
  } else if (!impl_->options.quiet && impl_->options.feed_stdin && ::isatty(STDIN_FILENO) != 0) {
    impl_->say("hint: stdin is a terminal, but the command has none of its own; --tty gives it one");
  }
  impl_->later(&Impl::feed);
}

void Front::output(Stream stream, std::string_view data, bool truncated) {
  auto& out = impl_->of(stream);
  out.truncated = out.truncated || truncated;
  out.pump->push(data);
}

void Front::stdin_allowed(std::uint64_t upto) {
  impl_->stdin_upto = std::max(impl_->stdin_upto, upto);
  if (impl_->input) impl_->input->allow(impl_->stdin_upto);
}

void Front::note(std::string text) {
  impl_->note(std::move(text));
}

void Front::ended(CallEnd end) {
  impl_->input.reset();
  impl_->end = std::move(end);
  impl_->finish_when_written();
}

void Front::ended(CallEnd end, CallFacts facts) {
  impl_->facts = std::move(facts);
  ended(std::move(end));
}

void report_refused_early(const std::string& report_file, const Error& error) {
  if (report_file.empty()) return;
  const auto report = open_report(report_file, {host_file_view().resolve(".")});
  if (!report) return;
  const CallEnd end = CallRefused{error.code, Value(Map{{"detail", text_or_bytes(error.text())}}), {}};
  const int status = to_int(ExitStatus::kNotRun);
  (void)write_all(report->get(), render_json_pretty(render_report({}, end, status, {})) + "\n", report_file);
}

}  // namespace loom::service
