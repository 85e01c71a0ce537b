#include "wire/kinds.h"

#include <array>

namespace loom {
namespace {

constexpr std::array<std::string_view, kKindCount> kNames = {
    "hello",       "exec_start",   "exec_stdin",  "exec_winsize", "exec_credit", "exec_out",     "exec_exit",
    "cancel",      "shutdown",     "heartbeat",   "error",        "clear_call",  "call_started", "call_refused",
    "call_output", "call_settled", "call_stdin",  "call_winsize", "call_credit", "call_cancel",  "call_hook",
    "abort_op",    "abort_step",   "snapshot",    "census",       "stop",        "ok",           "cap_call",
    "cap_result",  "hook_call",    "hook_result",
};

constexpr unsigned bit(Phase phase) {
  return 1U << static_cast<unsigned>(phase);
}
constexpr unsigned kHelloOnly = bit(Phase::kAwaitingHello);
constexpr unsigned kOpenOnly = bit(Phase::kOpen);
constexpr unsigned kLater = bit(Phase::kOpen) | bit(Phase::kClosing);
constexpr unsigned kAlways = kHelloOnly | kLater;  // an error may be the answer to a hello

struct Row {
  Channel channel;
  Receiver receiver;
  Kind kind;
  unsigned phases;
};

// What is not here never crosses. A helper that is closing takes no new work; a broker that is closing answers a
// clear_call (with a refusal), so that it may still come.
constexpr Row kTable[] = {
    {Channel::kExec, Receiver::kHelper, Kind::kHello, kHelloOnly},
    {Channel::kExec, Receiver::kHelper, Kind::kExecStart, kOpenOnly},
    {Channel::kExec, Receiver::kHelper, Kind::kExecStdin, kLater},
    {Channel::kExec, Receiver::kHelper, Kind::kExecWinsize, kLater},
    {Channel::kExec, Receiver::kHelper, Kind::kExecCredit, kLater},
    {Channel::kExec, Receiver::kHelper, Kind::kCancel, kLater},
    {Channel::kExec, Receiver::kHelper, Kind::kShutdown, kLater},
    {Channel::kExec, Receiver::kHelper, Kind::kHeartbeat, kLater},
    {Channel::kExec, Receiver::kHelper, Kind::kError, kAlways},

    {Channel::kExec, Receiver::kBroker, Kind::kHello, kHelloOnly},
    {Channel::kExec, Receiver::kBroker, Kind::kExecOut, kLater},
    {Channel::kExec, Receiver::kBroker, Kind::kExecExit, kLater},
    {Channel::kExec, Receiver::kBroker, Kind::kExecCredit, kLater},
    {Channel::kExec, Receiver::kBroker, Kind::kHeartbeat, kLater},
    {Channel::kExec, Receiver::kBroker, Kind::kError, kAlways},

    {Channel::kControl, Receiver::kBroker, Kind::kHello, kHelloOnly},
    {Channel::kControl, Receiver::kBroker, Kind::kClearCall, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kCallStdin, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kCallWinsize, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kCallCredit, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kCallCancel, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kCallHook, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kAbortOp, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kAbortStep, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kSnapshot, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kCensus, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kStop, kLater},
    {Channel::kControl, Receiver::kBroker, Kind::kHeartbeat, kLater},

    {Channel::kControl, Receiver::kClient, Kind::kHello, kHelloOnly},
    {Channel::kControl, Receiver::kClient, Kind::kCallStarted, kLater},
    {Channel::kControl, Receiver::kClient, Kind::kCallRefused, kLater},
    {Channel::kControl, Receiver::kClient, Kind::kCallOutput, kLater},
    {Channel::kControl, Receiver::kClient, Kind::kCallSettled, kLater},
    {Channel::kControl, Receiver::kClient, Kind::kCallCredit, kLater},
    {Channel::kControl, Receiver::kClient, Kind::kOk, kLater},
    {Channel::kControl, Receiver::kClient, Kind::kHeartbeat, kLater},
    {Channel::kControl, Receiver::kClient, Kind::kError, kAlways},

    {Channel::kCapability, Receiver::kBroker, Kind::kHello, kHelloOnly},
    {Channel::kCapability, Receiver::kBroker, Kind::kCapCall, kLater},
    {Channel::kCapability, Receiver::kBroker, Kind::kHookResult, kLater},
    {Channel::kCapability, Receiver::kBroker, Kind::kError, kAlways},

    {Channel::kCapability, Receiver::kJail, Kind::kHello, kHelloOnly},
    {Channel::kCapability, Receiver::kJail, Kind::kCapResult, kLater},
    {Channel::kCapability, Receiver::kJail, Kind::kHookCall, kLater},
    {Channel::kCapability, Receiver::kJail, Kind::kError, kAlways},
};

}  // namespace

std::string_view to_text(Kind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<Kind> parse_kind(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

Permission permission(Channel channel, Kind kind, Receiver receiver, Phase phase) {
  for (const auto& row : kTable) {
    if (row.channel != channel || row.receiver != receiver || row.kind != kind) continue;
    return (row.phases & bit(phase)) != 0 ? Permission::kAllowed : Permission::kForbidden;
  }
  return Permission::kForbidden;
}

}  // namespace loom
