#include "local_call.h"

#include <csignal>
#include <utility>

namespace loom::exec {

LocalCall::LocalCall(Loop& loop, service::Front& front, std::uint64_t deadline_ms)
    : loop_(loop), front_(front), deadline_ms_(deadline_ms) {}

void LocalCall::start(const helper::StartExecution& start, helper::ExecRequest request) {
  cpu_s_ = request.policy.limits.cpu_s;
  helper::ExecEvents events;
  events.output = [this](Stream stream, std::string_view data, std::uint64_t /*cumulative*/, bool truncated) {
    front_.output(stream, data, truncated);
  };
  events.stdin_consumed = [this](std::uint64_t consumed) { front_.stdin_allowed(consumed + kInitialCredit); };
  events.exited = [this](const ExecExit& exit) { exited(exit); };
  events.failed = [this](const Error& error) { failed(error); };
  execution_ = start(std::move(request), std::move(events));
  execution_->allow_output(Stream::kStdout, kInitialCredit);
  execution_->allow_output(Stream::kStderr, kInitialCredit);
  if (deadline_ms_ == 0) return;
  deadline_ = loop_.timer(loop_.now() + milliseconds(static_cast<std::int64_t>(deadline_ms_)), [this] {
    deadline_passed_ = !cancelled_;
    cancel();
  });
}

void LocalCall::write_stdin(std::string data, bool eof) {
  if (execution_ && !ended_) execution_->write_stdin(std::move(data), eof);
}

void LocalCall::allow_output(Stream stream, std::uint64_t upto) {
  if (execution_ && !ended_) execution_->allow_output(stream, upto);
}

void LocalCall::cancel() {
  cancelled_ = true;
  if (execution_ && !ended_) execution_->cancel();
}

void LocalCall::resize(TtySize size) {
  if (execution_ && !ended_) execution_->resize(size);
}

void LocalCall::pause(bool stopped) {
  if (execution_ && !ended_) execution_->pause(stopped);
}

std::string LocalCall::stopped_by(const ExecExit& exit) const {
  if (exit.timed_out) return "wall";
  // The helper's own cancel, for the tree's total.
  if (exit.cancelled && !cancelled_ && cpu_s_ != 0) return "cpu";
  if (exit.cancelled) return deadline_passed_ ? "deadline" : "cancel";
  if (cpu_s_ != 0 && exit.signal == SIGXCPU) return "cpu";
  return "none";
}

void LocalCall::exited(const ExecExit& exit) {
  ended_ = true;
  deadline_.reset();
  CallSettled settled;
  settled.exited = exit;
  settled.stopped_by = stopped_by(exit);
  front_.ended(std::move(settled));
}

void LocalCall::failed(const Error& error) {
  ended_ = true;
  deadline_.reset();
  CallSettled settled;
  if (error.code == "jail_lost") {
    settled.failed = CallFailure{"execution_lost", Value(Map{{"cause", "helper_down"}, {"msg", error.text()}})};
  } else {
    Map detail{{"code", error.code}, {"msg", error.text()}};
    if (!error.hint.empty()) detail.emplace_back("hint", error.hint);
    settled.failed = CallFailure{"helper_refused", Value(std::move(detail))};
  }
  if (cancelled_) settled.stopped_by = deadline_passed_ ? "deadline" : "cancel";
  front_.ended(std::move(settled));
}

}  // namespace loom::exec
