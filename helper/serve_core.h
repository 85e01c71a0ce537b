// The exec channel as the helper sees it: every decision of `loom-exec serve`, without I/O (spec/wire.md "Exec
// channel", "Faults").
//
//   event            awaiting hello           open                                 closing (channel open) closed Opened
//   hello                    ignored                              ignored                        ignored FrameIn table,
//   then hello only   table, then per kind                 table, then per kind           ignored Malformed fault fault
//   fault                          ignored PartialFrame     30 s clock               30 s clock 30 s clock ignored
//   InputEnded       closing (fault inside a frame)   the same                     ignored (fault inside a frame)
//   ignored OutputClosed     closing, closed          closing, closed                      closed ignored Terminate
//   closing                  closing                              ignored                        ignored Output,
//   StdinConsumed, Exited, Failed     the execution's own business: frames while the channel is open; the end of the
//   last
//                    one finishes a closing helper; for an execution that is unknown: ignored
//   Written          more room for that stream's output
//   Tick             hello and frame deadlines
//
// A fault sends one `error`, closes the channel, cancels everything and leaves with 1 when the last jail is joined.
// Closing cancels and joins likewise and leaves with 0. Each accepted exec_start gets exactly one exec_exit or error
// while the channel is open.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/value.h"
#include "helper/execution.h"
#include "plan/report.h"
#include "policy/model.h"
#include "wire/exec_exit.h"
#include "wire/frame.h"
#include "wire/kinds.h"
#include "wire/stream.h"

namespace loom::helper {

struct ServeSettings {
  std::string peer;            // "loom-exec/VERSION"
  Report features;             // of the hello
  unsigned capacity = 4;       // 1..4
  std::optional<Policy> base;  // none: every exec_start must bring one
};

using ExecutionNumber = std::uint64_t;  // the id of its exec_start

namespace event {
struct Opened {};
struct FrameIn {
  Frame frame;
};
struct Malformed {
  Error error;
};
struct PartialFrame {};  // after a read: an unfinished frame is held
struct InputEnded {
  bool inside_frame = false;
};
struct OutputClosed {};
struct Terminate {};  // we were asked to end by a signal
struct Output {       // the shell keeps the bytes; the core needs their number only
  ExecutionNumber id = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t size = 0;
  bool truncated = false;
};
struct Written {  // so many bytes of exec_out data were taken by the kernel
  ExecutionNumber id = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t size = 0;
};
struct StdinConsumed {
  ExecutionNumber id = 0;
  std::uint64_t consumed = 0;
};
struct Exited {
  ExecutionNumber id = 0;
  ExecExit exit;
};
struct Failed {
  ExecutionNumber id = 0;
  Error error;
};
struct Tick {};
}  // namespace event

using ServeEvent = std::variant<event::Opened, event::FrameIn, event::Malformed, event::PartialFrame, event::InputEnded,
                                event::OutputClosed, event::Terminate, event::Output, event::Written,
                                event::StdinConsumed, event::Exited, event::Failed, event::Tick>;

namespace effect {
struct Send {
  std::uint64_t id = 0;
  Kind kind = Kind::kError;
  Value body;
};
struct SendOutput {  // the bytes of the Output event that caused it
  ExecutionNumber id = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t bytes = 0;  // cumulative
  bool truncated = false;
};
struct Start {
  ExecutionNumber id = 0;
  ExecRequest request;
};
struct WriteStdin {
  ExecutionNumber id = 0;
  std::string data;
  bool eof = false;
};
struct AllowOutput {
  ExecutionNumber id = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t upto = 0;
};
struct Resize {
  ExecutionNumber id = 0;
  TtySize size;
};
struct CancelExecution {
  ExecutionNumber id = 0;
};
struct CloseChannel {};  // nothing more is read; what was sent is still written if the transport takes it
struct Finish {          // the last effect: leave with this status
  int status = 0;
};
}  // namespace effect

using ServeEffect =
    std::variant<effect::Send, effect::SendOutput, effect::Start, effect::WriteStdin, effect::AllowOutput,
                 effect::Resize, effect::CancelExecution, effect::CloseChannel, effect::Finish>;
using ServeEffects = std::vector<ServeEffect>;

inline constexpr Duration kHelloTimeout = seconds(5);
inline constexpr Duration kFrameTimeout = seconds(30);

class ServeCore {
 public:
  explicit ServeCore(ServeSettings settings);
  // Effects are to be carried out in order.
  [[nodiscard]] ServeEffects step(ServeEvent event, TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;  // when a Tick is due
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] std::size_t running() const { return running_.size(); }

 private:
  struct Window {                              // one output stream
    std::uint64_t peer_upto = kInitialCredit;  // what the peer allows
    std::uint64_t sent = 0;
    std::uint64_t written =
        0;  // of sent: taken by the kernel, so that a peer that grants and does not read costs us one window
    std::uint64_t allowed = 0;  // what the engine was told
    bool truncated = false;
  };
  struct Running {
    std::uint64_t stdin_granted = kInitialCredit;
    std::uint64_t stdin_received = 0;
    bool stdin_ended = false;
    bool tty = false;
    std::array<Window, 2> out;  // stdout, stderr
  };

  void on(event::Opened, TimePoint now);
  void on(event::FrameIn&& e, TimePoint now);
  void on(event::Malformed&& e, TimePoint now);
  void on(event::PartialFrame, TimePoint now);
  void on(event::InputEnded e, TimePoint now);
  void on(event::OutputClosed, TimePoint now);
  void on(event::Terminate, TimePoint now);
  void on(event::Output e, TimePoint now);
  void on(event::Written e, TimePoint now);
  void on(event::StdinConsumed e, TimePoint now);
  void on(event::Exited&& e, TimePoint now);
  void on(event::Failed&& e, TimePoint now);
  void on(event::Tick, TimePoint now);

  void dispatch(Kind kind, Frame&& frame);
  void hello(const Frame& frame);
  void exec_start(const Frame& frame);
  void exec_stdin(Frame&& frame);
  void exec_winsize(const Frame& frame);
  void exec_credit(const Frame& frame);
  void cancel(const Frame& frame);
  void shutdown(const Frame& frame);
  void heartbeat(const Frame& frame);
  void peer_error(const Frame& frame);

  [[nodiscard]] Result<ExecRequest> make_request(ExecStart&& start) const;
  void begin_closing(int status);
  void close_channel();
  void finish_when_joined();
  void fault(std::uint64_t id, std::string_view code, std::string message);
  void send(std::uint64_t id, Kind kind, Value body);
  void send_error(std::uint64_t id, std::string_view code, std::string message);
  void allow(ExecutionNumber id, Running& running, Stream stream);
  void ended(ExecutionNumber id);

  ServeSettings settings_;
  Phase phase_ = Phase::kAwaitingHello;
  bool channel_open_ = true;
  bool by_signal_ = false;  // closing was our own wish: the peer may not know yet
  bool finished_ = false;
  int status_ = 0;
  std::uint64_t last_start_ = 0;
  std::uint64_t next_id_ = 1;  // of frames that speak about an execution
  std::map<ExecutionNumber, Running> running_;
  std::optional<TimePoint> hello_deadline_;
  std::optional<TimePoint> frame_deadline_;
  ServeEffects effects_;
};

// The limits of one execution: each field the smaller of the two, 0 counting as none asked for (so it leaves the
// policy's). Pure.
[[nodiscard]] Limits tighten(const Limits& policy, const Limits& asked);

}  // namespace loom::helper
