#include "broker/helper.h"

#include <algorithm>
#include <utility>

#include "broker/helper_moves.h"
#include "broker/instant.h"

namespace loom::broker {

namespace helper_moves {

void send(HelperCore& core, ExecMessage message, Effects& out) {
  out.push_back(helper_effect::Send{core.next_id++, std::move(message)});
}

void die(HelperCore& core, Death death, Kill kill, TimePoint now, Effects& out, Map never_live) {
  const bool was_live = core.phase == HelperPhase::kLive;
  if (was_live) {
    out.push_back(helper_effect::Died{death.why, core.shutdown_sent && kill == Kill::kNo});
  } else {
    if (never_live.empty()) never_live = {{"detail", death.why}};
    out.push_back(helper_effect::NeverLive{std::move(never_live)});
  }
  if (kill == Kill::kYes) out.push_back(helper_effect::Kill{});
  if (kill == Kill::kAfterWords) core.kill_due = now + kLastWords;
  core.phase = HelperPhase::kDead;
  core.death = std::move(death);
  core.retirement = Retirement::kAwaitingStatus;
  core.handshake_due.reset();
  core.shutdown_due.reset();
  core.eof_due.reset();
  core.heartbeat_next.reset();
  core.heartbeat_due.reset();
  for (auto& [id, runner] : core.runners) runner.cancel_due.reset();
  core.witness_due = now + kWitness + (core.kill_due ? kLastWords : Duration(0));
}

}  // namespace helper_moves

namespace {

using helper_moves::die;
using helper_moves::Effects;
using helper_moves::Kill;

// Every runner leaves with one verdict, and the core forgets it.
void settle_runners(HelperCore& core, bool witnessed, Effects& out) {
  const Death death = core.death.value_or(Death{});
  for (const auto& [id, runner] : std::exchange(core.runners, {})) {
    if (death.all) {
      out.push_back(helper_effect::Failed{id, *death.all});
    } else if (death.culprits.contains(id) && (witnessed || !death.needs_witness)) {
      out.push_back(helper_effect::Failed{id, death.verdict});
    } else {
      out.push_back(helper_effect::Down{id, witnessed});
    }
  }
}

void prove(HelperCore& core, Effects& out) {
  core.retirement = Retirement::kProved;
  core.witness_due.reset();
  out.push_back(helper_effect::Proved{});
}

void cannot_prove(HelperCore& core, UnconfirmedReason reason, std::string why, Effects& out) {
  core.retirement = Retirement::kUnconfirmed;
  core.witness_due.reset();
  out.push_back(helper_effect::Unproved{reason, std::move(why)});
}

std::string how(const helper_event::Exited& event) {
  return (event.signalled ? "ended by signal " : "exited ") + std::to_string(event.number);
}

// A local helper: its status and the end of all that was reparented from it. Behind a carrier there is only the status:
// 0 after a shutdown, or any with nothing running.
void weigh_exit(HelperCore& core, const helper_event::Exited& event, TimePoint now, Effects& out) {
  if (!core.local) {
    const bool joined = core.shutdown_sent && !event.signalled && event.number == 0;
    if (joined || !core.exited_with_work) return prove(core, out);
    return cannot_prove(core, UnconfirmedReason::kCarrierLeftWork, "its carrier " + how(event) + " with work running",
                        out);
  }
  core.orphans.insert(event.orphans.begin(), event.orphans.end());
  for (const Pid pid : event.orphans) out.push_back(helper_effect::KillOrphan{pid});
  if (core.orphans.empty()) return prove(core, out);
  core.retirement = Retirement::kAwaitingOrphans;
  core.witness_due = now + kWitness;
}

void on_exited(HelperCore& core, const helper_event::Exited& event, TimePoint now, Effects& out) {
  if (core.retirement == Retirement::kProved) return;
  core.kill_due.reset();
  core.exited_with_work = !core.runners.empty();
  if (core.phase != HelperPhase::kDead) {
    const std::string when = core.phase == HelperPhase::kLive ? "" : " before hello";
    die(core, Death{how(event) + when, {}, {}, {}, false}, Kill::kNo, now, out);
  }
  settle_runners(core, true, out);
  weigh_exit(core, event, now, out);
}

void on_spawn_failed(HelperCore& core, const helper_event::SpawnFailed& event, TimePoint now, Effects& out) {
  if (core.retirement == Retirement::kProved) return;
  if (core.phase != HelperPhase::kDead) die(core, Death{event.detail, {}, {}, {}, false}, Kill::kNo, now, out);
  prove(core, out);
}

void on_retire(HelperCore& core, TimePoint now, Effects& out) {
  switch (core.phase) {
    case HelperPhase::kPrepared:
      core.phase = HelperPhase::kDead;
      return prove(core, out);
    case HelperPhase::kAwaitingHello:
      return die(core, Death{"not wanted any more", {}, {}, {}, false}, Kill::kYes, now, out);
    case HelperPhase::kLive:
      if (core.shutdown_sent) return;
      core.shutdown_sent = true;
      core.shutdown_due = now + kShutdownGrace;
      core.heartbeat_next.reset();
      core.heartbeat_due.reset();
      return helper_moves::send(core, Shutdown{}, out);
    case HelperPhase::kDead:
      return;
  }
}

// The end of its output: of a crash, whose status is about to come, or of a helper that goes on without it.
void on_end(HelperCore& core, std::string why, TimePoint now, Effects& out) {
  // After a shutdown this is the ordinary end, and its own clock runs.
  if (core.shutdown_sent || core.eof_due) return;
  core.eof_due = now + kEofGrace;
  core.eof_why = std::move(why);
  if (core.phase == HelperPhase::kLive) out.push_back(helper_effect::Leaving{});
}

void on_fault(HelperCore& core, const helper_event::Fault& event, TimePoint now, Effects& out) {
  switch (core.phase) {
    case HelperPhase::kPrepared:
    case HelperPhase::kDead:
      return;
    case HelperPhase::kAwaitingHello:
    case HelperPhase::kLive:
      break;
  }
  const Error& error = event.error;
  const std::string why = error.code + ": " + error.text();
  out.push_back(helper_effect::Send{0, ErrorMessage{error.code, error.text()}});
  if (event.ended) return on_end(core, why, now, out);
  die(core, Death{error.code, channel_closed(why), {}, {}, false}, Kill::kAfterWords, now, out);
}

void on_eof(HelperCore& core, TimePoint now, Effects& out) {
  switch (core.phase) {
    case HelperPhase::kPrepared:
    case HelperPhase::kDead:
      return;
    case HelperPhase::kAwaitingHello:
    case HelperPhase::kLive:
      return on_end(core, "the helper closed its output", now, out);
  }
}

void on_cancel(HelperCore& core, StartId id, TimePoint now, Effects& out) {
  const auto at = core.runners.find(id);
  if (core.phase != HelperPhase::kLive || at == core.runners.end() || at->second.cancelled) return;
  at->second.cancelled = true;
  at->second.cancel_due = now + kCancelGrace;
  helper_moves::send(core, Cancel{id}, out);
}

void on_stdin(HelperCore& core, helper_event::SendStdin& event, Effects& out) {
  const auto at = core.runners.find(event.id);
  if (core.phase != HelperPhase::kLive || at == core.runners.end() || at->second.stdin_eof) return;
  at->second.stdin_bytes += event.data.size();
  at->second.stdin_eof = event.eof;
  helper_moves::send(core, ExecStdin{event.id, std::move(event.data), event.eof}, out);
}

void on_grant(HelperCore& core, const helper_event::GrantOutput& event, Effects& out) {
  const auto at = core.runners.find(event.id);
  if (core.phase != HelperPhase::kLive || at == core.runners.end() || event.stream == Stream::kStdin) return;
  std::uint64_t& upto = event.stream == Stream::kStdout ? at->second.stdout_upto : at->second.stderr_upto;
  if (event.upto <= upto) return;
  upto = event.upto;
  helper_moves::send(core, ExecCredit{event.id, event.stream, event.upto}, out);
}

void on_resize(HelperCore& core, const helper_event::Resize& event, Effects& out) {
  if (core.phase != HelperPhase::kLive || !core.runners.contains(event.id)) return;
  helper_moves::send(core, ExecWinsize{event.id, event.size.rows, event.size.cols}, out);
}

void on_orphan_gone(HelperCore& core, Pid pid, Effects& out) {
  if (core.orphans.erase(pid) == 0 || !core.orphans.empty()) return;
  switch (core.retirement) {
    case Retirement::kAwaitingOrphans:
    case Retirement::kUnconfirmed:
      return prove(core, out);
    case Retirement::kNone:
    case Retirement::kAwaitingStatus:
    case Retirement::kProved:
      return;
  }
}

bool passed(const std::optional<TimePoint>& due, TimePoint now) {
  return due && *due <= now;
}

void check_cancels(HelperCore& core, TimePoint now, Effects& out) {
  Death death{"a cancel was not honoured", {}, {}, cancel_escalated(), true};
  for (const auto& [id, runner] : core.runners) {
    if (passed(runner.cancel_due, now)) death.culprits.insert(id);
  }
  if (!death.culprits.empty()) die(core, std::move(death), Kill::kYes, now, out);
}

void check_witness(HelperCore& core, TimePoint now, Effects& out) {
  if (!passed(core.witness_due, now)) return;
  settle_runners(core, false, out);
  if (core.retirement == Retirement::kAwaitingOrphans) {
    return cannot_prove(core, UnconfirmedReason::kOrphansLeft,
                        std::to_string(core.orphans.size()) + " process(es) of its jails not reaped", out);
  }
  if (core.local) return cannot_prove(core, UnconfirmedReason::kEndNotSeen, "its end was not seen", out);
  cannot_prove(core, UnconfirmedReason::kCarrierLost, "its carrier's end was not seen", out);
}

// At most one move a turn and phase: dying clears the other clocks.
void on_timer(HelperCore& core, TimePoint now, Effects& out) {
  const auto end = [&](const char* why, std::optional<Failure> all = {}) {
    die(core, Death{why, std::move(all), {}, {}, false}, Kill::kYes, now, out);
  };
  if (passed(core.kill_due, now)) {
    core.kill_due.reset();
    out.push_back(helper_effect::Kill{});
  }
  if (passed(core.handshake_due, now)) return end("no hello within 5 s");
  if (passed(core.eof_due, now)) return end("closed its output", channel_closed(core.eof_why));
  if (passed(core.shutdown_due, now)) return end("did not exit after shutdown");
  if (passed(core.heartbeat_due, now)) return end("did not answer a heartbeat");
  if (passed(core.heartbeat_next, now)) {
    core.heartbeat_id = core.next_id;
    core.heartbeat_next.reset();
    core.heartbeat_due = now + kHeartbeatAnswer;
    helper_moves::send(core, Heartbeat{}, out);
  }
  check_cancels(core, now, out);
  check_witness(core, now, out);
}

struct Stepper {
  HelperCore& core;
  TimePoint now;
  Effects& out;

  void operator()(helper_event::Begin&) const {
    if (core.phase != HelperPhase::kPrepared) return;
    core.phase = HelperPhase::kAwaitingHello;
    core.handshake_due = now + kHandshake;
  }
  void operator()(helper_event::Spawned& event) const { core.pid = event.pid; }
  void operator()(helper_event::SpawnFailed& event) const { on_spawn_failed(core, event, now, out); }
  void operator()(helper_event::FrameIn& event) const {
    helper_moves::on_frame(core, std::move(event.frame), now, out);
  }
  void operator()(helper_event::OutIn& event) const {
    helper_moves::on_output(core, event.id, std::move(event.out), now, out);
  }
  void operator()(helper_event::Fault& event) const { on_fault(core, event, now, out); }
  void operator()(helper_event::Eof&) const { on_eof(core, now, out); }
  void operator()(helper_event::Exited& event) const { on_exited(core, event, now, out); }
  void operator()(helper_event::OrphanGone& event) const { on_orphan_gone(core, event.pid, out); }
  void operator()(helper_event::SendStdin& event) const { on_stdin(core, event, out); }
  void operator()(helper_event::Resize& event) const { on_resize(core, event, out); }
  void operator()(helper_event::GrantOutput& event) const { on_grant(core, event, out); }
  void operator()(helper_event::CancelRun& event) const { on_cancel(core, event.id, now, out); }
  void operator()(helper_event::Retire&) const { on_retire(core, now, out); }
  void operator()(helper_event::Timer&) const { on_timer(core, now, out); }
};

}  // namespace

std::vector<HelperEffect> step(HelperCore& core, HelperEvent event, TimePoint now) {
  Effects out;
  std::visit(Stepper{core, now, out}, event);
  return out;
}

std::string_view to_text(UnconfirmedReason reason) {
  switch (reason) {
    case UnconfirmedReason::kEndNotSeen:
      return "end_not_seen";
    case UnconfirmedReason::kOrphansLeft:
      return "orphans_left";
    case UnconfirmedReason::kCarrierLost:
      return "carrier_lost";
    case UnconfirmedReason::kCarrierLeftWork:
      return "carrier_left_work";
  }
  return "end_not_seen";
}

std::optional<Started> start(HelperCore& core, ExecStart request) {
  if (core.phase != HelperPhase::kLive || core.shutdown_sent || core.eof_due) return std::nullopt;
  const StartId id = core.next_id++;
  core.runners.emplace(id, Runner{});
  return Started{id, {id, std::move(request)}};
}

std::optional<TimePoint> next_deadline(const HelperCore& core) {
  std::optional<TimePoint> next = earlier(core.handshake_due, core.shutdown_due);
  next = earlier(next, core.eof_due);
  next = earlier(next, core.kill_due);
  next = earlier(next, core.witness_due);
  next = earlier(next, core.heartbeat_next);
  next = earlier(next, core.heartbeat_due);
  for (const auto& [id, runner] : core.runners) next = earlier(next, runner.cancel_due);
  return next;
}

}  // namespace loom::broker
