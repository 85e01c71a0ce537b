#include "helper/jailed_execution.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "helper/bwrap_backend.h"
#include "helper/exec_fault.h"
#include "helper/kernel.h"
#include "helper/orders.h"
#include "helper/probe_host.h"
#include "helper/unjailed.h"
#include "helper/way_out.h"

namespace loom::helper {
namespace {

constexpr int kPatience = 500;  // milliseconds

NamespaceIds own_namespaces() {
  NamespaceIds ids{};
  constexpr std::array<const char*, 7> kNames{"user", "mnt", "pid", "ipc", "uts", "cgroup", "net"};
  for (std::size_t i = 0; i < kNames.size(); ++i) ids[i] = inode_of(std::string("/proc/self/ns/") + kNames[i]);
  return ids;
}

}  // namespace

JailedExecution::JailedExecution(Loop& loop, const HostContext& host, ExecRequest request, ExecEvents events)
    : loop_(loop),
      host_(host),
      request_(std::move(request)),
      events_(std::move(events)),
      container_(host.container),
      bwrap_(host.bwrap),
      no_native_(host.no_native),
      no_container_(host.no_container),
      features_(host.features),
      placeholders_(loop),
      stdin_(loop, [this](std::uint64_t total) { events_.stdin_consumed(total); }),
      stdout_(loop, request_.policy.limits.output_bytes,
              [this](std::string_view data, std::uint64_t total, bool cut) {
                events_.output(Stream::kStdout, data, total, cut);
              }),
      stderr_(loop, request_.policy.limits.output_bytes, [this](std::string_view data, std::uint64_t total, bool cut) {
        events_.output(Stream::kStderr, data, total, cut);
      }) {
  start();
}

JailedExecution::~JailedExecution() {
  control_watch_.reset();
  builder_watch_.reset();
  jail_watch_.reset();
  if (bwrap_ && jail_.running() && control_) {
    // Killed, it would leave its jail to end a moment after it.
    ::shutdown(control_.get(), SHUT_RDWR);
    pollfd end{jail_.pidfd(), POLLIN, 0};
    ::poll(&end, 1, kPatience);
  }
  const bool building = builder_.running();
  killed_ = true;
  if (building) let_it_tell();
  builder_.end();
  if (building) hear();  // it may have told of the jail's process, which ends with its owner
  jail_.end();
  // What was made on the host goes when nothing lives that it was made for.
  if (control_) hear();
  read_facts();
}

// A builder that is killed between the start of the jail's process and the word of it would leave a child that nobody
// knows of and nobody reaps.
void JailedExecution::let_it_tell() {
  const TimePoint enough = monotonic_now() + milliseconds(kPatience);
  for (TimePoint now = monotonic_now(); control_ && !jail_.running() && now < enough; now = monotonic_now()) {
    std::array<pollfd, 2> either{{{control_.get(), POLLIN, 0}, {builder_.pidfd(), POLLIN, 0}}};
    const bool told = ::poll(either.data(), either.size(), static_cast<int>(to_ms(enough - now))) > 0;
    hear();
    if (!told || either[1].revents != 0) return;
  }
}

void JailedExecution::start() {
  make_cgroup();
  bound_the_building();
  Status started = open_channels();
  if (started) started = start_builder();
  if (started) return;
  error_ = started.error();
  if (go_on_with_bwrap() || go_on_without_container()) return;
  phase_ = Phase::kOver;
  soon_ = loop_.timer(loop_.now(), [this] { finish(); });
}

// The builder looks paths up, and a file system may never answer. The clock of wall_s begins with the command: what
// comes before it has this one, a minute at most, and never so little that a loaded machine would meet it.
void JailedExecution::bound_the_building() {
  constexpr std::uint64_t kLeast = 10;
  constexpr std::uint64_t kMost = 60;
  const std::uint64_t wall = request_.policy.limits.wall_s;
  Duration patience = seconds(static_cast<std::int64_t>(wall == 0 ? kMost : std::clamp(wall, kLeast, kMost)));
  if (host_.options.building != Duration{}) patience = host_.options.building;
  building_ = loop_.timer(loop_.now() + patience, [this, patience] {
    if (phase_ != Phase::kBuilding || killed_) return;
    error_ = Error{"spawn_failed", "", "the jail was not built within " + std::to_string(to_ms(patience)) + " ms",
                   "a file system that a path of the policy is on may not answer"};
    kill_all();
  });
}

// One that cannot be had is a layer that is missing: the report says so, and who demanded it is refused.
void JailedExecution::make_cgroup() {
  no_cgroup_ = host_.no_cgroup;
  cgroup_.reset();
  if (!host_.cgroups || !wants_cgroup(request_.policy.limits)) return;
  // The jail's own processes: its init, bubblewrap's, and the bridge of a proxy.
  const unsigned own = 1U + (bwrap_ && container_ ? 1U : 0U) +
                       (container_ && request_.policy.network.mode == NetworkMode::kProxy ? 1U : 0U);
  Result<Cgroup> made = Cgroup::make(host_.cgroups->fd(), request_.policy.limits, own);
  no_cgroup_ = made ? "" : made.error().text();
  if (made) cgroup_.emplace(std::move(*made));
}

long JailedExecution::clone_builder(BuildJob& job, UniqueFd& pidfd) {
  if (!cgroup_) return clone_process(builder_flags(job), pidfd);
  job.cgroup = cgroup_->fd();
  // Root's builder stays outside and starts the jail's process in it.
  const bool outside = host_.root_start && container_;
  const long pid = clone_process(builder_flags(job), pidfd, outside ? -1 : job.cgroup);
  if (pid >= 0 || outside || !is_cgroup_error(static_cast<int>(-pid))) return pid;
  no_cgroup_ = kernel_error("cgroup", "start the jail in it", static_cast<int>(-pid)).text();
  cgroup_.reset();
  job.cgroup = -1;
  return clone_process(builder_flags(job), pidfd);
}

Status JailedExecution::open_channels() {
  if (request_.tty) return {};  // the terminal comes from inside
  const std::uint32_t owner = host_.root_start ? host_.options.jail_uid + kJailUser : host_.uid;
  LOOM_TRY(PipeEnds in, make_pipe(HelperEnd::kWrite, owner));
  LOOM_TRY(PipeEnds out, make_pipe(HelperEnd::kRead, owner));
  LOOM_TRY(PipeEnds err, make_pipe(HelperEnd::kRead, owner));
  jail_streams_ = {std::move(in.read), std::move(out.write), std::move(err.write)};
  stdin_.open(std::move(in.write), false);
  stdout_.open(std::move(out.read));
  stderr_.open(std::move(err.read));
  return {};
}

Status JailedExecution::start_builder() {
  read_facts();  // of one that failed
  LOOM_TRY(ControlPair control, make_control());
  LOOM_TRY(facts_, memory_file(""));
  BuildJob job{host_, request_, control.jail.get(), control.helper.get(), facts_.get(), {-1, -1, -1}, container_, -1};
  if (bwrap_ && container_) {
    LOOM_TRY(said_, memory_file(""));
    job.bwrap = true;
    job.said = said_.get();
  }
  for (std::size_t i = 0; i < jail_streams_.size(); ++i) job.streams[i] = jail_streams_[i].get();
  UniqueFd pidfd;
  const long pid = clone_builder(job, pidfd);
  if (pid == 0) run_builder(job);
  if (pid < 0) {
    Error error = namespace_error(static_cast<int>(-pid));
    if (container_ && error.hint.empty()) error.code = kNoContainer;  // as in the builder: no shortage of our own
    return fail(std::move(error));
  }
  control_ = std::move(control.helper);
  control_watch_ = loop_.watch(control_.get(), Readiness::kRead, [this] { hear(); });
  if (host_.root_start && container_) {
    builder_ = OwnedChild(std::move(pidfd));
    builder_watch_ = loop_.watch(builder_.pidfd(), Readiness::kRead, [this] { on_builder_end(); });
  } else {
    watch_jail(std::move(pidfd));
  }
  return {};
}

// Nothing was started that still lives, and natively nothing can be.
bool JailedExecution::go_on_with_bwrap() {
  const bool may = host_.options.backend == Backend::kAuto && !host_.root_start && !bwrap_ && !killed_;
  if (!may || !error_ || error_->code != kNoContainer || !probe_bwrap(host_).empty()) return false;
  bwrap_ = true;
  no_native_ = error_->text();
  features_ = features_of_bwrap(std::move(features_), no_native_);
  error_.reset();
  make_cgroup();  // with room for bubblewrap's own process
  if (const Status started = start_builder(); !started) {
    error_ = started.error();
    return false;
  }
  return true;
}

// Bubblewrap ended before stage 2 said anything: what it wrote is the reason.
Error JailedExecution::words_of_bwrap() const {
  std::string words = said_ ? read_memory_file(said_.get()) : std::string();
  words.erase(std::find(words.begin(), words.end(), '\n'), words.end());
  return Error{kNoContainer, "bwrap", words.empty() ? "ended before stage 2 was started, without a word" : words, ""};
}

// Nothing was started that still lives. Only a caller who asked for the best that can be had gets less than a
// container; for the others it is a layer that is missing.
bool JailedExecution::go_on_without_container() {
  if (!error_ || error_->code != kNoContainer) return false;
  const std::string why = error_->text();
  const std::string hint = "loom-census doctor tells what this host lacks";
  if (request_.demand != Demand::kBestEffort || killed_) {
    error_ = Error{"layer_refused", "", "missing namespaces; missing mounts; " + why, hint};
    return false;
  }
  container_ = false;
  no_container_ = why;
  error_.reset();
  if (const Status started = start_builder(); !started) {
    error_ = started.error();
    return false;
  }
  return true;
}

void JailedExecution::watch_jail(UniqueFd pidfd) {
  jail_ = OwnedChild(std::move(pidfd));
  jail_watch_ = loop_.watch(jail_.pidfd(), Readiness::kRead, [this] { on_jail_end(); });
}

void JailedExecution::hear() {
  ControlMessage message;
  for (;;) {
    switch (receive(control_.get(), message)) {
      case Received::kMessage:
        on_message(message);
        break;
      case Received::kNothingYet:
        return;
      case Received::kEnd:
        control_watch_.reset();  // the pidfds tell the rest
        return;
    }
  }
}

void JailedExecution::on_message(ControlMessage& message) {
  switch (message.type()) {
    case stage2::FromStage2::kRefused:
      return on_refused(message);
    case stage2::FromStage2::kJail:
      if (message.passed.size() == 1 && !jail_.running()) watch_jail(std::move(message.passed.front()));
      if (killed_) kill_all();
      return;
    case stage2::FromStage2::kHeld:
      return on_held(message);
    case stage2::FromStage2::kPty:
      return on_terminal(message);
    case stage2::FromStage2::kReport:
      return on_report(message);
    case stage2::FromStage2::kExecFailed:
      error_ = explain_exec(message.as<stage2::ExecFailed>());
      return;
    case stage2::FromStage2::kDenied:
      return why_.add(message.as<stage2::Denied>());
    case stage2::FromStage2::kAttempt:
      return why_.add(message.as<stage2::Attempt>());
    case stage2::FromStage2::kEnded:
      ended_ = message.as<stage2::Ended>();
      return;
    case stage2::FromStage2::kLeft:
      left_ = message.as<stage2::Left>();
      if (left_->ended != 0) ended_ = stage2::Ended{0, left_->status};
      return;
  }
}

void JailedExecution::read_facts() {
  if (!facts_) return;
  for (const std::string& fact : split_facts(read_memory_file(facts_.get()))) {
    switch (static_cast<FactKind>(fact.front())) {
      case FactKind::kMountsTag:
        mounts_tag_ = fact.substr(1);
        break;
      case FactKind::kEvent:
        plan_events_.push_back(fact.substr(1));
        break;
      case FactKind::kSkip:
        plan_events_.push_back("left-out=" + fact.substr(1));
        break;
      case FactKind::kPlanOp:
        add_plan_op(why_.plan(), std::string_view(fact).substr(1));
        break;
      case FactKind::kPlanLink:
        add_plan_link(why_.plan(), std::string_view(fact).substr(1));
        break;
      case FactKind::kGuard:
        if (auto record = decode_guard(std::string_view(fact).substr(1))) placeholders_.remember(std::move(*record));
        break;
    }
  }
  facts_.reset();
}

void JailedExecution::on_refused(const ControlMessage& message) {
  if (error_) return;
  const std::vector<std::string> parts = split_strings(std::string_view(message.bytes).substr(sizeof(stage2::Plain)));
  Error error;
  if (!parts.empty()) error.code = parts[0];
  if (parts.size() > 1) error.where = parts[1];
  if (parts.size() > 2) error.what = parts[2];
  if (parts.size() > 3) error.hint = parts[3];
  error_ = std::move(error);
}

// The kernel drops what there is no room for, without an error.
void JailedExecution::on_held(ControlMessage& message) {
  const bool whole =
      std::to_string(message.passed.size()) == std::string_view(message.bytes).substr(sizeof(stage2::Plain));
  placeholders_.hold(std::move(message.passed));
  if (whole || error_) return;
  error_ = kernel_error("placeholders", "keep their locks", EMFILE);
  kill_all();
}

void JailedExecution::on_terminal(ControlMessage& message) {
  if (message.passed.size() != 1 || !request_.tty) return;
  UniqueFd& master = message.passed.front();
  ::fcntl(master.get(), F_SETFL, O_NONBLOCK);
  UniqueFd in(::fcntl(master.get(), F_DUPFD_CLOEXEC, 0));
  terminal_ = UniqueFd(::fcntl(master.get(), F_DUPFD_CLOEXEC, 0));
  stdin_.open(std::move(in), true);
  stdout_.open(std::move(master));
}

std::vector<Path> JailedExecution::failed_paths(const ControlMessage& message, const stage2::Report& seen) {
  std::vector<Path> paths;
  if (message.passed.empty()) return paths;
  const std::vector<Path> checked = checked_paths(read_memory_file(message.passed.front().get()));
  for (std::uint32_t i = 0; i < std::min(seen.failures, stage2::kReportedFailures); ++i) {
    if (seen.failed[i] < checked.size()) paths.push_back(checked[seen.failed[i]]);
  }
  return paths;
}

void JailedExecution::on_report(const ControlMessage& message) {
  if (phase_ != Phase::kBuilding || killed_) return;
  for (UniqueFd& stream : jail_streams_) stream.reset();  // stage 2 has them
  read_facts();
  WhatIsKnown known{request_.policy,
                    container_,
                    bwrap_,
                    host_.options.backend == Backend::kAuto ? no_native_ : std::string(),
                    no_container_,
                    own_namespaces(),
                    mounts_tag_,
                    plan_events_,
                    {},
                    message.as<stage2::Report>(),
                    cgroup_.has_value(),
                    "",
                    no_cgroup_};
  if (cgroup_) {
    const Result<std::string> holds = cgroup_->verify(pid_of(jail_.pidfd()), request_.policy.limits);
    holds ? known.cgroup_holds = *holds : known.no_cgroup = holds.error().text();
    cpu_before_ = cgroup_->cpu_us();
  }
  known.no_way_out = no_way_out(
      host_, request_.policy,
      !container_ ? stage2::Container::kNone : (bwrap_ ? stage2::Container::kBwrap : stage2::Container::kNative));
  if (request_.policy.network.mode == NetworkMode::kProxy) known.bridge = bridge_of(jail_.pidfd());
  if (known.seen.failures > 0) known.failed_mounts = failed_paths(message, known.seen);
  report_ = compose_report(known);
  const Shortfall shortfall = judge_report(request_.policy, features_, report_, !container_, request_.demand);
  if (!shortfall.none()) {
    const std::string aliases = words_of_aliases(request_.policy, shortfall);
    error_ = Error{"layer_refused", "", shortfall.text() + aliases,
                   aliases.empty() ? "" : "remove its other names (find -samefile), or ask with --demand best_effort"};
    return kill_all();
  }
  phase_ = Phase::kRunning;
  building_.reset();
  started_ = loop_.now();
  if (const std::uint64_t wall = request_.policy.limits.wall_s; wall != 0) {
    wall_ = loop_.timer(started_ + seconds(static_cast<std::int64_t>(std::min<std::uint64_t>(wall, 1U << 30U))),
                        [this] { stop(true); });
  }
  look_at_cpu();
  send_order(control_.get(), stage2::ToStage2::kGo);
}

void JailedExecution::resize(TtySize size) {
  if (!terminal_) return;
  const winsize window{static_cast<unsigned short>(size.rows), static_cast<unsigned short>(size.cols), 0, 0};
  ::ioctl(terminal_.get(), TIOCSWINSZ, &window);
}

void JailedExecution::pause(bool stopped) {
  if (phase_ != Phase::kRunning || cancelled_) return;
  send_order(control_.get(), stopped ? stage2::ToStage2::kStop : stage2::ToStage2::kContinue);
}

void JailedExecution::allow_output(Stream stream, std::uint64_t upto) {
  if (stream == Stream::kStdin) return;
  (stream == Stream::kStdout ? stdout_ : stderr_).allow(upto);
  if (phase_ == Phase::kOver && !soon_) soon_ = loop_.timer(loop_.now(), [this] { finish_when_drained(); });
}

std::unique_ptr<Execution> start_execution(Loop& loop, const HostContext& host, ExecRequest request,
                                           ExecEvents events) {
  if (host.options.platform == Platform::kNoJail)
    return start_unjailed(loop, host, std::move(request), std::move(events));
  return std::make_unique<JailedExecution>(loop, host, std::move(request), std::move(events));
}

}  // namespace loom::helper
