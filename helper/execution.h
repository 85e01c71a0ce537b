// One execution: from a request to its one terminal report. The seam between the engine (builder, stage 2, endings) and
// its two users: `serve` (exec channel, credit) and `run` (the caller's own streams). Single-threaded, on one Loop;
// nothing here blocks on a path look-up. Carries out: spec/jail.md "Parts", "Stage 2", "Ending"; spec/wire.md "Exec
// channel".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/loop.h"
#include "plan/report.h"
#include "policy/model.h"
#include "wire/exec_exit.h"
#include "wire/exec_start.h"
#include "wire/stream.h"

namespace loom::helper {

// What is the same for every execution of one helper process. Made once, at start.
struct HostContext;  // helper/host_context.h: stage 2's descriptor, features, root start and id block, cgroup base,
                     // backend

// Which refused calls are told in the report (--why).
enum class Why { kNothing, kCalls, kPaths };
[[nodiscard]] std::optional<Why> parse_why(std::string_view text);  // "calls", "paths"

struct ExecRequest {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;      // requested; the policy's env_allow has not been applied yet
  std::map<std::string, std::string> own_env;  // loom's own names (LOOM_TOKEN, ...): after env_allow
  std::string cwd;
  Policy policy;  // decoded, validated, limits already tightened
  Demand demand = Demand::kPlatform;
  std::optional<TtySize> tty;
  Why why = Why::kNothing;
};

// Terminal: exactly one of the two is called, once, after the child was reaped; nothing is called after it.
struct ExecEvents {
  // Data of stdout or stderr as it comes, at most 256 KiB a call, already cut at output_bytes. `truncated` is true
  // once, on the final chunk of a stream that reached output_bytes.
  std::function<void(Stream, std::string_view, std::uint64_t cumulative, bool truncated)> output;
  // The command has read this much of its stdin in all (bytes accepted by its pipe or dropped after it closed it).
  std::function<void(std::uint64_t consumed)> stdin_consumed;
  std::function<void(const ExecExit&)> exited;
  // code is one of wire.md's exec error codes (layer_refused, exec_not_found, jail_lost, ...).
  std::function<void(const Error&)> failed;
};

class Execution {
 public:
  virtual ~Execution() =
      default;  // ends everything at once (KILL by pidfd) if it has not ended; reaps before returning
  // Bytes for stdin, in order; kept until the command reads them. The caller bounds what it sends (credit).
  virtual void write_stdin(std::string data, bool eof) = 0;
  virtual void resize(TtySize size) = 0;
  // How far output of this stream may be delivered, in cumulative bytes. At the limit the command's pipe is not read.
  virtual void allow_output(Stream stream, std::uint64_t upto) = 0;
  // STOP to everything inside, and CONT. Not once it is being ended; its clocks go on.
  virtual void pause(bool /*stopped*/) {}
  // The ladder: TERM, CONT, 2 s, KILL. Idempotent.
  virtual void cancel() = 0;
};

// Never fails by itself: what goes wrong is reported through events.failed, later, from the loop.
[[nodiscard]] std::unique_ptr<Execution> start_execution(Loop& loop, const HostContext& host, ExecRequest request,
                                                         ExecEvents events);

}  // namespace loom::helper
