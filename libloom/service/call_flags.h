// "Flags of run and call" (spec/broker.md): what `loom-broker run`, `loom-broker call` and `loom-exec run` are told
// about one call, declared once and read once. Pure: what the process knows of itself is passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "plan/report.h"
#include "policy/compose.h"
#include "policy/model.h"

namespace loom::service {

// The options, in the order in which --help shows them. `loom-exec run` has no --caller and no --cap.
enum class CallFront { kExecRun, kBrokerRun, kBrokerCall };
[[nodiscard]] std::vector<cli::Option> call_options(CallFront front);

// What the flags are read against.
struct CallerFacts {
  Path cwd;                                                                   // this process's own, absolute
  std::function<std::optional<std::string>(const std::string&)> environment;  // the value of a name
};

struct CallFlags {
  std::vector<std::string> argv;           // never empty
  std::optional<std::string> policy_file;  // at most one of these two
  std::optional<Path> workspace;           // absolute and canonical
  std::optional<Path> cwd;                 // --cwd, absolute and canonical
  std::map<std::string, std::string> env;  // --env, with the caller's own value where none was given
  std::vector<std::string> allow_hosts;    // --allow-host, as written
  std::vector<Grant> grants;               // --grant, and those that --env and --allow-host imply
  std::optional<Demand> demand;            // absent: the default of whoever clears
  bool proceed_narrowed = false;           // --narrowed proceed
  std::uint64_t timeout_ms = 0;            // 0: none
  std::string caller;
  std::vector<std::string> caps;
  std::optional<std::string> why;  // "calls", "paths"
  bool tty = false;
  bool quiet = false;
  std::string report_file;
  int status_fd = -1;
};
// Errors are bad_argument, `where` the flag.
[[nodiscard]] Result<CallFlags> read_call_flags(const cli::Parsed& parsed, const CallerFacts& facts);

// `path` made absolute against `cwd`, with `.`, `..` and repeated slashes gone by their text alone. Links are not
// looked at.
[[nodiscard]] Path absolute_path(const Path& path, const Path& cwd);

// The environment a call asks for: the caller's values of the names a policy lets in, then the flags' own.
[[nodiscard]] std::map<std::string, std::string> requested_environment(const std::vector<std::string>& env_allow,
                                                                       const CallFlags& flags,
                                                                       const CallerFacts& facts);
// The directory a call asks for: --cwd, else the caller's own where a root of the policy covers it, else the workspace,
// which is
// --workspace or the first writable root; nothing when there is none of these.
[[nodiscard]] std::optional<Path> requested_cwd(const Policy& policy, const CallFlags& flags, const CallerFacts& facts);

}  // namespace loom::service
