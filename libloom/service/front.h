// The front of one call: what `loom-exec run`, `loom-broker run` and `loom-broker call` have in common. It gives a
// command the caller's own stdin, stdout and stderr (with credit in both directions), turns signals into cancels, owns
// the terminal when there is one, and turns the end of the call into the report, the status lines and the exit status.
// Carries out: spec/broker.md "Flags of run and call", spec/cli.md (streams, statuses).
//
// Use: Front::open() before anything is started; attach() the link; started() once the call runs; output() and
// stdin_allowed() as they come; ended() exactly once. `done` is called once, from the loop, when everything delivered
// has been written. Single-threaded, on the Loop it was opened on. The descriptors 0, 1 and 2 are borrowed; their flags
// are never changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "os/loop.h"
#include "policy/model.h"
#include "wire/call_refused.h"
#include "wire/call_settled.h"
#include "wire/call_started.h"
#include "wire/exec_start.h"
#include "wire/stream.h"

namespace loom::service {

// What the front asks of the call it stands before. Calls are never made from inside a call to the Front, but may be
// made before started(): cancel() then means that nothing should run.
class CallLink {
 public:
  virtual ~CallLink() = default;
  virtual void write_stdin(std::string data, bool eof) = 0;          // in order, never past stdin_allowed()
  virtual void allow_output(Stream stream, std::uint64_t upto) = 0;  // cumulative bytes; grows
  virtual void cancel() = 0;                                         // idempotent
  virtual void resize(TtySize size) = 0;
  // The caller is being stopped by its terminal, or goes on. What cannot be stopped goes on alone.
  virtual void pause(bool /*stopped*/) {}
};

struct FrontOptions {
  std::string tool;           // begins every line said: "loom-exec"
  bool tty = false;           // the command has a terminal: ours is raw while it runs
  bool quiet = false;         // only errors are said
  bool feed_stdin = true;     // false: the command's stdin is at its end from the start
  std::string report_file;    // "" for none
  std::vector<Path> planted;  // where commands may have planted names (service/report_file.h)
  int status_fd = -1;         // borrowed; -1 for none
};

// What the call was started with: for the report and the status descriptor.
struct CallFacts {
  std::string policy_digest;
  std::vector<Value> narrowings;         // maps, as encode_narrowing gives them
  std::optional<ExecutionId> execution;  // of a broker
};

using CallEnd = std::variant<CallSettled, CallRefused>;

class Front {
 public:
  // Errors (nothing was started): a report file that cannot be opened, a status descriptor that is not open.
  // `done` gets the exit status the process should leave with, at once.
  [[nodiscard]] static Result<std::unique_ptr<Front>> open(Loop& loop, FrontOptions options,
                                                           std::function<void(int status)> done);
  ~Front();  // gives the terminal back
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  [[nodiscard]] std::optional<TtySize> tty_size() const;  // for the request; nothing without tty
  void attach(CallLink& link);                            // borrowed until done
  void started(CallFacts facts);
  void output(Stream stream, std::string_view data, bool truncated);
  void stdin_allowed(std::uint64_t upto);  // cumulative; the first MiB is allowed from the start
  void note(std::string text);             // one line for the report's notes, said unless quiet
  void ended(CallEnd end);
  // With what is known of the policy when a call is refused before started().
  void ended(CallEnd end, CallFacts facts);

 private:
  struct Impl;
  explicit Front(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The report of a call that was refused before a front could be opened: none of an earlier call is left to be taken for
// its own. A report that cannot be written is not said again.
void report_refused_early(const std::string& report_file, const Error& error);

}  // namespace loom::service
