// loom-broker: parse, do, leave with the status. The verbs are in files of their own.
#include <string_view>

#include "cli/output.h"
#include "options.h"
#include "verbs.h"

namespace {

int dispatch(const loom::cli::Parsed& parsed) {
  const std::string& verb = parsed.verb->name;
  if (verb == "run") return loom::broker::run_verb(parsed);
  if (verb == "call") return loom::broker::call_verb(parsed);
  if (verb == "serve") return loom::broker::serve_verb(parsed);
  if (verb == "smoke") return loom::broker::smoke_verb(parsed);
  return loom::broker::ask_verb(parsed);
}

}  // namespace

int main(int argc, char** argv) {
  loom::cli::prepare_process();
  const loom::cli::Tool tool = loom::broker::broker_tool();
  const loom::cli::Outcome outcome = loom::cli::parse_command_line(tool, argc, argv);
  if (outcome.parsed) return dispatch(*outcome.parsed);
  if (outcome.to_stdout) return loom::to_int(loom::cli::answer(tool.name, outcome.text));
  loom::cli::say(std::string_view(outcome.text).substr(0, outcome.text.size() - 1));
  return outcome.status;
}
