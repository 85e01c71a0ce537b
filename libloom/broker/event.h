// What the broker's core is told and what it asks for: the whole boundary between the pure core and its shell.
// A shell turns readiness into one Event, calls step() and carries out the effects in order; it decides nothing.
// Ownership: events and effects are values. Times are passed to step() beside the event.
// Carries out: spec/broker.md "Helpers and the pool", "Closing"; spec/wire.md "Control channel", "Exec channel".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/value.h"
#include "wire/abort_op.h"
#include "wire/abort_step.h"
#include "wire/call_cancel.h"
#include "wire/call_credit.h"
#include "wire/call_hook.h"
#include "wire/call_output.h"
#include "wire/call_refused.h"
#include "wire/call_settled.h"
#include "wire/call_spec.h"
#include "wire/call_started.h"
#include "wire/call_stdin.h"
#include "wire/call_winsize.h"
#include "wire/cancel.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_exit.h"
#include "wire/exec_hello.h"
#include "wire/exec_out.h"
#include "wire/exec_start.h"
#include "wire/exec_stdin.h"
#include "wire/exec_winsize.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/ok.h"
#include "wire/stop.h"

namespace loom::broker {

using ConnId = std::uint64_t;    // the shell's number for a connection; never used twice
using HelperId = std::uint64_t;  // the core's number for a helper process (its ordinal); never used twice
using Pid = std::int64_t;
using ProxyId = std::uint64_t;  // the core's number for an egress proxy; never used twice

// ---- from the outside ----------------------------------------------------------------------------------------------

// Once, first. Starts the spare helpers.
struct Boot {};

// A peer was accepted. `allowed`: its credentials are among those served. `embedded`: a client in this process, which
// skips hello and speaks in ClientRequests.
struct ClientConnected {
  ConnId conn = 0;
  bool allowed = true;
  bool embedded = false;
};
// `entropy`: 32 fresh random bytes where frame.kind is clear_call, else may be empty. The core wipes them.
struct ClientFrame {
  ConnId conn = 0;
  Frame frame;
  std::string entropy;
};
// The bytes of this peer are no frames (malformed, over the cap, or not complete in time). The core closes it.
struct ClientFault {
  ConnId conn = 0;
  Error error;
};
// End of file, half-close included, or a broken connection. Not needed (and ignored) after CloseClient: a
// connection that the core closed is forgotten.
struct ClientVanished {
  ConnId conn = 0;
};

struct SnapshotRequest {};
struct CensusRequest {};
struct HeartbeatRequest {};
using Request = std::variant<CallSpec, CallStdin, CallWinsize, CallCredit, CallCancel, CallHook, AbortOp, AbortStep,
                             SnapshotRequest, CensusRequest, Stop, HeartbeatRequest>;
// A request that is already a value: what an embedded client sends. `id` as on the wire; clear_call's increase.
struct ClientRequest {
  ConnId conn = 0;
  std::uint64_t id = 0;
  Request request;
  std::string entropy;  // as ClientFrame's
};

// SIGTERM, or the end of `run`. Answered by Closed. A second one changes nothing; Closed is given again.
struct CloseRequested {
  std::optional<std::uint64_t> drain_ms;
};

// The helper that SpawnHelper named runs; a pid of 0 where it is not a local process.
struct HelperSpawned {
  HelperId helper = 0;
  Pid pid = 0;
};
// It could not be started: no process exists.
struct HelperSpawnFailed {
  HelperId helper = 0;
  Error error;
};
struct HelperFrame {
  HelperId helper = 0;
  Frame frame;
};
// The same for exec_out where the shell decoded it without a Value (a body that is not copied). Judged alike.
struct HelperOutput {
  HelperId helper = 0;
  std::uint64_t id = 0;
  ExecOut out;
};
// The helper's bytes are no frames (malformed, over the cap, or not complete in time), or the transport failed.
// `ended`: its output ended there, inside a frame or in a broken pipe, as it does when the process dies.
struct HelperFault {
  HelperId helper = 0;
  Error error;
  bool ended = false;
};
// End of file on the helper's stdout, between frames. Its process may still be there.
struct HelperEof {
  HelperId helper = 0;
};
// The helper's status was read (and with it the process reaped). The shell sends it after every frame that was left in
// the pipe. `orphans`: every process that is now a child of this broker and is no helper (a child subreaper's look at
// its own children, taken after the reaping). The core asks for their end with KillOrphan.
struct HelperExited {
  HelperId helper = 0;
  bool signalled = false;
  int number = 0;  // the exit code, or the signal
  std::vector<Pid> orphans;
};
// The bytes of an exec_start were given to the helper; `at` is the clock's time then, not the turn's.
struct StartGiven {
  HelperId helper = 0;
  std::uint64_t id = 0;
  TimePoint at;
};
struct OrphanReaped {
  Pid pid = 0;
};

// The process that StartProxy asked for runs; it has said that it serves; it ended, or could not be started.
struct ProxySpawned {
  ProxyId proxy = 0;
  Pid pid = 0;
};
struct ProxyReady {
  ProxyId proxy = 0;
};
struct ProxyEnded {
  ProxyId proxy = 0;
  std::string how;
};
// What it refused, and to whom. The shell sends it before the end of a call that may have heard it.
struct EgressRefused {
  Pid peer = 0;
  std::string destination;  // host:port, as it was asked
  std::string code;
};
struct ProxyRefusals {
  ProxyId proxy = 0;
  std::vector<EgressRefused> refusals;
};

// next_deadline() has come.
struct Tick {};

using Event =
    std::variant<Boot, ClientConnected, ClientFrame, ClientRequest, ClientFault, ClientVanished, CloseRequested,
                 HelperSpawned, HelperSpawnFailed, HelperFrame, HelperOutput, HelperFault, HelperEof, HelperExited,
                 StartGiven, OrphanReaped, ProxySpawned, ProxyReady, ProxyEnded, ProxyRefusals, Tick>;

// ---- asked of the outside ------------------------------------------------------------------------------------------

// Start a helper under the base policy. `block`: which of the blocks of host ids is its own (a root helper's
// --jail-uid); not given to another helper before this one's end is proved. Answered by HelperSpawned or
// HelperSpawnFailed.
struct SpawnHelper {
  HelperId helper = 0;
  std::uint32_t block = 0;
};

struct Shutdown {};
struct Heartbeat {};
using ExecMessage =
    std::variant<ExecHello, ExecStart, ExecStdin, ExecWinsize, ExecCredit, Cancel, Shutdown, Heartbeat, ErrorMessage>;
// Encode with encode_exec() and write. Where message is an ExecStart the bytes hold a token: wipe them once written.
struct SendToHelper {
  HelperId helper = 0;
  std::uint64_t id = 0;
  ExecMessage message;
};
// SIGKILL by its pidfd; keep pidfd and pipes until HelperExited was given.
struct KillHelper {
  HelperId helper = 0;
};
// SIGKILL; the process is a child of this broker (it was among HelperExited::orphans).
struct KillOrphan {
  Pid pid = 0;
};

// Start a proxy for this allow list on the socket at `socket`: listening on it is the shell's, which makes it at the
// first start and keeps it for the next. `list`: the allow list's digest. Answered by ProxySpawned and ProxyReady, or
// by ProxyEnded.
struct StartProxy {
  ProxyId proxy = 0;
  std::vector<std::string> allow;
  std::string list;
  std::string socket;
  bool endpoint = false;  // not a proxy but the capability endpoint, which makes its socket itself
};
// End it, if it runs, and close its socket. Not answered.
struct StopProxy {
  ProxyId proxy = 0;
};

// The endpoint is told a token by its digest, and that it is nobody's any more.
struct GrantToken {
  ProxyId proxy = 0;
  std::string sha256;
  std::string caller;
  std::string run;
};
struct RevokeToken {
  ProxyId proxy = 0;
  std::string sha256;
};

struct HeartbeatEcho {};
using ControlReply =
    std::variant<Hello, CallStarted, CallRefused, CallOutput, CallSettled, CallCredit, Ok, ErrorMessage, HeartbeatEcho>;
// To a connection; encode with encode_control() unless it is the embedded client's.
struct Reply {
  ConnId conn = 0;
  std::uint64_t id = 0;
  ControlReply message;
};
// Close after what was replied before has been written. No ClientVanished is expected for it (one is ignored).
struct CloseClient {
  ConnId conn = 0;
};

enum class LogLevel { kInfo, kWarning };
// One line for the operator: render_logfmt() or render_log_json(). Never holds anything of a request's content.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string event;  // broker.started, call.refused, call.settled, helper.retired, broker.closed, ...
  Map fields;
};

// The broker is closed: every call settled, every helper proved gone or given up on. The shell ends with 0 or 1.
struct Closed {
  bool clean = false;
  std::uint64_t unconfirmed = 0;  // slots whose helper's end was not proved
};

using Effect = std::variant<SpawnHelper, SendToHelper, KillHelper, KillOrphan, StartProxy, StopProxy, GrantToken,
                            RevokeToken, Reply, CloseClient, LogLine, Closed>;

}  // namespace loom::broker
