// Every kind of every channel and the table {channel, kind, direction, phase} that says what may cross (spec/wire.md
// "Faults"). The table is asked before a body is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace loom {

enum class Kind {
  kHello,
  kExecStart,
  kExecStdin,
  kExecWinsize,
  kExecCredit,
  kExecOut,
  kExecExit,
  kCancel,
  kShutdown,
  kHeartbeat,
  kError,
  kClearCall,
  kCallStarted,
  kCallRefused,
  kCallOutput,
  kCallSettled,
  kCallStdin,
  kCallWinsize,
  kCallCredit,
  kCallCancel,
  kCallHook,
  kAbortOp,
  kAbortStep,
  kSnapshot,
  kCensus,
  kStop,
  kOk,
  kCapCall,
  kCapResult,
  kHookCall,
  kHookResult,
};
inline constexpr int kKindCount = static_cast<int>(Kind::kHookResult) + 1;

enum class Channel { kExec, kControl, kCapability };
// As the receiver sees it.
enum class Receiver { kHelper, kBroker, kClient, kJail };
enum class Phase { kAwaitingHello, kOpen, kClosing };
enum class Permission { kAllowed, kForbidden };

[[nodiscard]] std::string_view to_text(Kind kind);
[[nodiscard]] std::optional<Kind> parse_kind(std::string_view text);  // nullopt: unknown_kind
[[nodiscard]] Permission permission(Channel channel, Kind kind, Receiver receiver, Phase phase);

}  // namespace loom
