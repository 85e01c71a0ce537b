// loom-egress: the only way out. A request made, an allowlisting proxy, and nothing else (spec/egress.md).
#include <string_view>

#include "cli/command_line.h"
#include "cli/output.h"
#include "environment.h"
#include "options.h"
#include "verbs.h"

int main(int argc, char** argv) {
  using namespace loom;
  egress_tool::cleanse_environment();
  cli::prepare_process();
  const cli::Tool tool = egress_tool::tool();
  const cli::Outcome outcome = cli::parse_command_line(tool, argc, argv);
  if (!outcome.parsed) {
    if (outcome.to_stdout) return to_int(cli::answer(egress_tool::kTool, outcome.text));
    cli::say(std::string_view(outcome.text).substr(0, outcome.text.size() - 1));
    return outcome.status;
  }
  for (const egress_tool::VerbRow& row : egress_tool::verbs()) {
    if (row.declared.name == outcome.parsed->verb->name) return to_int(row.run(*outcome.parsed));
  }
  return to_int(ExitStatus::kUsage);
}
