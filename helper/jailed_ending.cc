// The second half of JailedExecution: from whatever ends it to its one terminal word (spec/jail.md "Ending").
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "helper/jailed_execution.h"

namespace loom::helper {
namespace {

// Stage 2 kills what is left after two seconds by itself and tells how the command ended; this is for a stage 2 that
// cannot.
constexpr Duration kLadder = milliseconds(2100);

}  // namespace

// The limit on processor time is each process's own; the tree's total is the cgroup's, and looked at from here.
void JailedExecution::look_at_cpu() {
  cpu_.reset();
  const std::uint64_t seconds_asked = request_.policy.limits.cpu_s;
  constexpr std::uint64_t kMost = 1U << 30U;
  if (!cgroup_ || seconds_asked == 0 || seconds_asked > kMost || phase_ != Phase::kRunning) return;
  const std::uint64_t limit = seconds_asked * 1'000'000;
  const std::uint64_t used = cgroup_->cpu_us() - cpu_before_;
  if (used >= limit) return stop(false);
  const auto processors = static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  cpu_ = loop_.timer(loop_.now() + next_cpu_look(used, limit, processors), [this] { look_at_cpu(); });
}

// Its last words, then it goes with whatever may still be in it.
void JailedExecution::close_cgroup() {
  cpu_.reset();
  if (!cgroup_) return;
  cgroup_events_ = cgroup_->events();
  if (phase_ == Phase::kRunning) cpu_us_ = cgroup_->cpu_us() - cpu_before_;
  cgroup_.reset();
}

void JailedExecution::cancel() {
  if (cancelled_ || timed_out_) return;
  stop(false);
}

void JailedExecution::stop(bool by_clock) {
  if (cancelled_) return;
  switch (phase_) {
    case Phase::kBuilding:
      cancelled_ = true;
      error_ = Error{"spawn_failed", "", "cancelled before the command was started", ""};
      return kill_all();
    case Phase::kRunning:
      cancelled_ = true;
      timed_out_ = by_clock;
      send_order(control_.get(), stage2::ToStage2::kTerminate);
      ladder_ = loop_.timer(loop_.now() + kLadder, [this] { kill_by_force(); });
      return;
    case Phase::kOver:
      // The command has ended by itself; who cancels now does not want to wait for the rest of its output.
      if (!soon_) soon_ = loop_.timer(loop_.now(), [this] { finish(); });
      return;
  }
}

// A builder that has not yet told of the jail's process may have started it already: it is left to tell, and only one
// that hangs is killed.
void JailedExecution::kill_all() {
  killed_ = true;
  if (bwrap_ && container_ && jail_.running()) {
    // Its end does not wait for its jail's; the end of the socket ends the jail, and that it does wait for. Also while
    // it builds: signalled then, it may leave its jail's process behind.
    ::shutdown(control_.get(), SHUT_RDWR);
    if (!ladder_) ladder_ = loop_.timer(loop_.now() + kLadder, [this] { kill_by_force(); });
    return;
  }
  jail_.signal(SIGKILL);
  if (builder_.running() && !jail_.running() && !ladder_) {
    ladder_ = loop_.timer(loop_.now() + kLadder, [this] { kill_by_force(); });
  }
}

void JailedExecution::kill_by_force() {
  killed_ = true;
  builder_.signal(SIGKILL);
  jail_.signal(SIGKILL);
}

void JailedExecution::on_builder_end() {
  if (!builder_.try_reap()) return;
  builder_watch_.reset();
  hear();  // a pidfd of the jail may stand in the socket
  if (!jail_.running() && phase_ != Phase::kOver) on_jail_end();
}

void JailedExecution::on_jail_end() {
  if (jail_.running() && !jail_.try_reap()) return;
  jail_watch_.reset();
  if (builder_.running()) {
    builder_.signal(SIGKILL);
    return;  // on_builder_end comes back
  }
  if (control_watch_) hear();
  control_watch_.reset();
  if (phase_ == Phase::kBuilding && bwrap_ && container_ && !error_ && !killed_) error_ = words_of_bwrap();
  if (phase_ == Phase::kBuilding && (go_on_with_bwrap() || go_on_without_container())) return;
  building_.reset();
  wall_.reset();
  ladder_.reset();
  close_cgroup();
  if (phase_ == Phase::kRunning) wall_ms_ = to_ms(loop_.now() - started_);
  const bool ran = phase_ == Phase::kRunning && !error_;
  phase_ = Phase::kOver;
  stdin_.close();
  for (UniqueFd& stream : jail_streams_) stream.reset();
  release_placeholders();
  if (!ran) return finish();
  finish_when_drained();
}

// Nothing of the jail lives; what was made for it on the host goes while the rest of its output is read.
void JailedExecution::release_placeholders() {
  read_facts();
  (void)placeholders_.release([this] {
    if (finishing_) finish();
  });
}

void JailedExecution::finish_when_drained() {
  soon_.reset();
  const bool out = stdout_.drain();
  const bool err = stderr_.drain();
  if ((out && err) || cancelled_) finish();
}

Error JailedExecution::why_nothing_ran() const {
  if (error_) return *error_;
  if (started_ != TimePoint{}) {
    return Error{"jail_lost", "", "the jail's init ended before the command: the command may have run", ""};
  }
  for (const std::string& event : cgroup_events_) {
    if (event.rfind("oom-kill=", 0) == 0)
      return Error{"spawn_failed", "/limits/mem_bytes", "the jail itself does not fit into it", "ask for more"};
  }
  return Error{"spawn_failed", "", "the jail's process ended while it was being prepared, without a word", ""};
}

ExecExit JailedExecution::exit_record() const {
  ExecExit record;
  const int status = ended_ ? ended_->status : SIGKILL;
  record.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  record.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  record.stdout_bytes = stdout_.delivered();
  record.stderr_bytes = stderr_.delivered();
  record.stdout_truncated = stdout_.truncated();
  record.stderr_truncated = stderr_.truncated();
  record.enforcement = report_;
  if (left_ && left_->killed > 0)
    record.enforcement.push_back("event:descendants-killed=" + std::to_string(left_->killed));
  for (const std::string& event : cgroup_events_) record.enforcement.push_back("event:" + event);
  if (cpu_us_ || left_)
    record.enforcement.push_back("event:cpu-us=" + std::to_string(cpu_us_ ? *cpu_us_ : left_->cpu_us));
  for (std::string& entry : why_.entries(request_.policy, container_)) record.enforcement.push_back(std::move(entry));
  for (const std::string& event : placeholders_.appeared()) record.enforcement.push_back("event:" + event);
  record.degraded = !container_;
  record.wall_ms = static_cast<std::uint64_t>(wall_ms_);
  record.timed_out = timed_out_;
  record.cancelled = cancelled_;
  return record;
}

// The last thing this object does: whoever hears it may destroy it.
void JailedExecution::finish() {
  finishing_ = true;
  if (!placeholders_.release([this] { finish(); })) return;
  // A cancel that comes while the placeholders are awaited leads here as well: the end is told once.
  const auto exited = std::exchange(events_.exited, nullptr);
  const auto failed = std::exchange(events_.failed, nullptr);
  if (!exited || !failed) return;
  stdout_.close();
  stderr_.close();
  const bool ran = !error_ && (ended_ || killed_) && started_ != TimePoint{};
  if (ran) {
    exited(exit_record());
  } else {
    failed(why_nothing_ran());
  }
}

}  // namespace loom::helper
