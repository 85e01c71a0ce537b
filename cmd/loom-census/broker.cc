#include <cstdlib>

#include "ask.h"
#include "base/runbook.h"
#include "cli/output.h"
#include "options.h"
#include "os/runtime_dir.h"
#include "verbs.h"

namespace loom::census {
namespace {

// --socket, else LOOM_SOCKET, else RUNTIME/broker.sock.
Result<std::string> find_socket(const cli::Parsed& parsed) {
  if (const auto flag = parsed.value("--socket")) return *flag;
  const char* named = std::getenv("LOOM_SOCKET");
  if (named != nullptr && *named != '\0') return std::string(named);
  LOOM_TRY(const std::string directory, find_runtime_dir(std::nullopt));
  return directory + "/broker.sock";
}

}  // namespace

ExitStatus show_broker(const cli::Parsed& parsed) {
  const auto socket = find_socket(parsed);
  const auto census = socket ? ask_broker(*socket) : fail(socket.error());
  if (census) return print_census(parsed, *census);
  cli::say_error(kTool, with_runbook_entry(census.error()));
  return ExitStatus::kUsage;
}

}  // namespace loom::census
