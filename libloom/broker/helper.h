// The core of one helper process as the broker sees it: handshake, frames in and out, the executions it runs, its end
// and the proof of it. Pure. Runners (one for each exec_start) are data of the machine; no traffic of one changes
// another's timers.
// Carries out: spec/broker.md "Helpers and the pool"; spec/wire.md "Exec channel", "Faults", "Rules".
//
//   event         Prepared        AwaitingHello              Live                          Dead
//   begin         -> Awaiting     -                          -                             -
//   spawn_failed  -> Dead, over   -> Dead, over              -                             -
//   frame         -               hello judged: -> Live, or  judged and routed by id       ignored
//                                 -> Dead and killed
//   fault         -               -> Dead and killed         -> Dead and killed            ignored
//   eof, ended    -               killed if no exit comes    lent no more; killed if no    ignored
//                                                            exit comes
//   exited        -               -> Dead, witnessed         -> Dead, witnessed            witnessed
//   start, stdin, refused         refused                    sent                          refused
//   credit, ...
//   cancel        -               -                          sent once for each target     ignored
//   shutdown      -> Dead, over   -> Dead and killed         sent once                     ignored
//   deadlines     -               handshake: killed          cancel grace, shutdown grace, witness: the end is not
//                                                            heartbeat: killed             seen
// A helper that is killed for what it sent is told first, and has kLastWords to read it.
// "-" cannot be, and is ignored. -> Dead settles every runner once: at the witness, or when the witness is overdue.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "broker/event.h"
#include "broker/settlement.h"

namespace loom::broker {

inline constexpr Duration kHandshake = seconds(5);
inline constexpr Duration kCancelGrace = seconds(3);      // longer than the helper's own ladder of 2 s
inline constexpr Duration kWitness = seconds(2);          // from a kill to its status, from a status to its orphans
inline constexpr Duration kShutdownGrace = seconds(3);    // from shutdown to a kill: with the witness, 5 s
inline constexpr Duration kLastWords = milliseconds(50);  // from an error that ends the channel to a kill
inline constexpr Duration kEofGrace =
    milliseconds(100);  // from end of file to a kill: a death of its own is seen first
inline constexpr Duration kHeartbeatEvery = seconds(15);
inline constexpr Duration kHeartbeatAnswer = seconds(5);

using StartId = std::uint64_t;  // the exec_start's frame id

enum class HelperPhase { kPrepared, kAwaitingHello, kLive, kDead };
enum class Retirement { kNone, kAwaitingStatus, kAwaitingOrphans, kProved, kUnconfirmed };

// Why a helper's end is not proved; each has an entry of its name in loom-runbook(7).
enum class UnconfirmedReason { kEndNotSeen, kOrphansLeft, kCarrierLost, kCarrierLeftWork };
inline constexpr int kUnconfirmedReasonCount = static_cast<int>(UnconfirmedReason::kCarrierLeftWork) + 1;
[[nodiscard]] std::string_view to_text(UnconfirmedReason reason);

struct Runner {
  std::uint64_t stdout_bytes = 0;  // received
  std::uint64_t stderr_bytes = 0;
  std::uint64_t stdout_upto = kInitialCredit;  // granted to the helper
  std::uint64_t stderr_upto = kInitialCredit;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  std::uint64_t stdin_bytes = 0;              // sent
  std::uint64_t stdin_upto = kInitialCredit;  // granted by the helper
  bool stdin_eof = false;
  bool cancelled = false;
  std::optional<TimePoint> cancel_due;  // the helper is killed then
};

// Why a helper is dead, and what that means for its runners.
struct Death {
  std::string why;             // for the operator; free of request content
  std::optional<Failure> all;  // every runner's verdict; absent: execution_lost, witnessed or not
  std::set<StartId> culprits;  // runners with a verdict of their own, the others as at a helper's death
  Failure verdict;             // theirs
  bool needs_witness = false;  // it stands only if the end is seen
};

struct HelperCore {
  HelperId id = 0;
  bool local = true;  // its orphans are ours to reap
  bool heartbeat = false;
  std::string peer;  // ours, for hello

  HelperPhase phase = HelperPhase::kPrepared;
  Retirement retirement = Retirement::kNone;
  Pid pid = 0;
  ExecHello hello;  // the helper's, once live
  std::map<StartId, Runner> runners;
  std::optional<Death> death;
  std::set<Pid> orphans;
  std::uint64_t next_id = 1;
  bool shutdown_sent = false;
  bool exited_with_work = false;

  std::optional<TimePoint> handshake_due;
  std::optional<TimePoint> shutdown_due;
  std::optional<TimePoint> eof_due;
  std::string eof_why;                // what the end of its output is called if the process outlives it
  std::optional<TimePoint> kill_due;  // it was told why it is ended
  std::optional<TimePoint> witness_due;
  std::optional<TimePoint> heartbeat_next;
  std::optional<TimePoint> heartbeat_due;
  std::uint64_t heartbeat_id = 0;
};

namespace helper_event {
struct Begin {};
struct Spawned {
  Pid pid = 0;
};
struct SpawnFailed {
  std::string detail;
};
struct FrameIn {
  Frame frame;
};
struct OutIn {
  StartId id = 0;
  ExecOut out;
};
struct Fault {
  Error error;
  bool ended = false;  // with the output's end: the process may be dying
};
struct Eof {};
struct Exited {
  bool signalled = false;
  int number = 0;
  std::vector<Pid> orphans;  // those that may be this helper's
};
struct OrphanGone {
  Pid pid = 0;
};
struct SendStdin {
  StartId id = 0;
  std::string data;
  bool eof = false;
};
struct Resize {
  StartId id = 0;
  TtySize size;
};
struct GrantOutput {
  StartId id = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t upto = 0;
};
struct CancelRun {
  StartId id = 0;
};
struct Retire {};  // shutdown
struct Timer {};
}  // namespace helper_event

using HelperEvent =
    std::variant<helper_event::Begin, helper_event::Spawned, helper_event::SpawnFailed, helper_event::FrameIn,
                 helper_event::OutIn, helper_event::Fault, helper_event::Eof, helper_event::Exited,
                 helper_event::OrphanGone, helper_event::SendStdin, helper_event::Resize, helper_event::GrantOutput,
                 helper_event::CancelRun, helper_event::Retire, helper_event::Timer>;

namespace helper_effect {
struct Send {
  std::uint64_t id = 0;
  ExecMessage message;
};
struct Kill {};
struct KillOrphan {
  Pid pid = 0;
};
struct Ready {};  // live: hello is in the core
struct Output {
  StartId id = 0;
  ExecOut out;
};
struct Exit {
  StartId id = 0;
  ExecExit exit;
};
struct Failed {  // the runner's one terminal verdict; it is gone from the core
  StartId id = 0;
  Failure failure;
};
struct Down {  // likewise: the helper ended under it
  StartId id = 0;
  bool witnessed = true;
};
struct StdinAllowed {
  StartId id = 0;
  std::uint64_t upto = 0;
};
struct NeverLive {  // the handshake did not come about; nothing ran
  Map detail;       // {detail} and what names the fault
};
struct Leaving {};  // its output ended: lend it no more; what it was, the next moments tell
struct Died {       // left Live: lend it no more
  std::string why;
  bool asked = false;  // by a shutdown: the ordinary end
};
struct Proved {};  // its end is proved
struct Unproved {
  UnconfirmedReason reason = UnconfirmedReason::kEndNotSeen;
  std::string why;
};
}  // namespace helper_effect

using HelperEffect =
    std::variant<helper_effect::Send, helper_effect::Kill, helper_effect::KillOrphan, helper_effect::Ready,
                 helper_effect::Output, helper_effect::Exit, helper_effect::Failed, helper_effect::Down,
                 helper_effect::StdinAllowed, helper_effect::NeverLive, helper_effect::Leaving, helper_effect::Died,
                 helper_effect::Proved, helper_effect::Unproved>;

[[nodiscard]] std::vector<HelperEffect> step(HelperCore& core, HelperEvent event, TimePoint now);

// An exec_start for a live helper: its id and the frame; nothing when it is not live or is being retired.
struct Started {
  StartId id = 0;
  helper_effect::Send send;
};
[[nodiscard]] std::optional<Started> start(HelperCore& core, ExecStart request);

[[nodiscard]] std::optional<TimePoint> next_deadline(const HelperCore& core);

}  // namespace loom::broker
