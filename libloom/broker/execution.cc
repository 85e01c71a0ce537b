#include "broker/execution.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace loom::broker {

namespace {

using Effects = std::vector<ExecutionEffect>;
constexpr int kSigKill = 9;
constexpr int kSigXcpu = 24;

Effects settle(ExecutionCore& core, std::variant<ExecExit, Failure> outcome, StopCause stopped_by) {
  core.settled = true;
  return {execution_effect::Settle{{std::move(outcome), stopped_by}}};
}

// The one place that cancels, so that a cancel is sent once.
Effects stop(ExecutionCore& core, StopCause cause) {
  switch (core.mode) {
    case Mode::kStreaming:
      core.mode = Mode::kDraining;
      core.stop = cause;
      return {execution_effect::SendCancel{}, execution_effect::EnterDraining{}};
    case Mode::kDraining:
      return {};
  }
  return {};
}

// The limit on processor time has no word of its own in exec_exit: its signal, or the helper's own count, tells.
bool stopped_by_cpu(const ExecutionCore& core, const ExecExit& exit) {
  const std::uint64_t limit = core.expected.needs.limits.cpu_s;
  if (limit == 0 || exit.timed_out) return false;
  if (exit.signal == kSigXcpu) return true;
  const bool over = reported_cpu_us(exit.enforcement) / 1'000'000U >= limit;
  return over && (exit.signal == kSigKill || exit.cancelled) && core.stop == StopCause::kNone;
}

struct Stepper {
  ExecutionCore& core;

  Effects operator()(execution_event::Output& event) const {
    if (core.caller_gone) return {};
    return {execution_effect::Deliver{std::move(event.out)}};
  }
  Effects operator()(execution_event::Exited& event) {
    const StopCause by = judge_stop(core, event.exit);
    const Expectation& want = core.expected;
    const Shortfall lack =
        judge_report(want.needs, want.features, event.exit.enforcement, event.exit.degraded, want.demand);
    if (!lack.none()) return settle(core, enforcement_short(lack.missing, lack.skipped), by);
    return settle(core, std::move(event.exit), by);
  }
  Effects operator()(execution_event::Failed& event) { return settle(core, std::move(event.failure), core.stop); }
  Effects operator()(execution_event::CancelRequested& event) { return stop(core, event.by); }
  Effects operator()(execution_event::CallerDown&) {
    core.caller_gone = true;
    return stop(core, StopCause::kCallerGone);
  }
  Effects operator()(execution_event::HelperDown& event) {
    return settle(core, execution_lost(event.witnessed ? LossCause::kHelperDown : LossCause::kRelayDown), core.stop);
  }
  Effects operator()(execution_event::DeadlineReached& event) { return stop(core, event.which); }
  Effects operator()(execution_event::GraceExpired&) {
    switch (core.mode) {
      case Mode::kStreaming:
        return {};
      case Mode::kDraining:
        return settle(core, execution_lost(LossCause::kRelayDown), core.stop);
    }
    return {};
  }
  Effects operator()(execution_event::Credit& event) {
    if (event.stream == Stream::kStdin || core.caller_gone) return {};
    std::uint64_t& granted = event.stream == Stream::kStdout ? core.granted_stdout : core.granted_stderr;
    if (event.upto <= granted) return {};
    granted = event.upto;
    return {execution_effect::SendCredit{event.stream, event.upto}};
  }
};

}  // namespace

Expectation expectation_of(const Policy& policy, const Report& features, Demand demand) {
  Expectation out{{}, features, demand};
  out.needs.limits = policy.limits;
  out.needs.network.mode = policy.network.mode;
  // Whether the whole host may be in view is all that a report is asked of the roots.
  for (const auto roots : {&Policy::readable_roots, &Policy::writable_roots}) {
    const auto& named = policy.*roots;
    if (std::find(named.begin(), named.end(), "/") != named.end()) out.needs.*roots = {"/"};
  }
  return out;
}

StopCause judge_stop(const ExecutionCore& core, const ExecExit& exit) {
  if (exit.timed_out) return StopCause::kWall;
  if (stopped_by_cpu(core, exit)) return StopCause::kCpu;
  return exit.cancelled ? core.stop : StopCause::kNone;
}

std::vector<ExecutionEffect> step(ExecutionCore& core, ExecutionEvent event) {
  if (core.settled) return {};
  return std::visit(Stepper{core}, event);
}

}  // namespace loom::broker
