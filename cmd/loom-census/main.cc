// loom-census: what is here? Versions, features, and where two censuses differ (spec/cli.md "loom-census").
#include <string>

#include "cli/command_line.h"
#include "cli/output.h"
#include "options.h"
#include "verbs.h"

int main(int argc, char** argv) {
  using namespace loom;
  cli::prepare_process();
  const cli::Outcome outcome = cli::parse_command_line(census::tool(), argc, argv);
  if (!outcome.parsed) {
    if (outcome.to_stdout) return to_int(cli::answer(census::kTool, outcome.text));
    cli::say(std::string_view(outcome.text).substr(0, outcome.text.size() - 1));
    return outcome.status;
  }
  const std::string& verb = outcome.parsed->verb->name;
  if (verb == "broker") return to_int(census::show_broker(*outcome.parsed));
  if (verb == "skew") return to_int(census::show_skew(*outcome.parsed));
  if (verb == "doctor") return to_int(census::show_doctor(*outcome.parsed));
  return to_int(census::show_local(*outcome.parsed));
}
