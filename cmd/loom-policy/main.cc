// loom-policy: what may it do? A policy document: check, compose, explain (spec/policy.md "loom-policy").
#include <string_view>

#include "cli/command_line.h"
#include "cli/output.h"
#include "options.h"
#include "verbs.h"

int main(int argc, char** argv) {
  using namespace loom;
  cli::prepare_process();
  const cli::Outcome outcome = cli::parse_command_line(policy_tool::tool(), argc, argv);
  if (!outcome.parsed) {
    if (outcome.to_stdout) return to_int(cli::answer(policy_tool::kTool, outcome.text));
    cli::say(std::string_view(outcome.text).substr(0, outcome.text.size() - 1));
    return outcome.status;
  }
  for (const auto& [name, run] : policy_tool::verbs()) {
    if (name == outcome.parsed->verb->name) return to_int(run(*outcome.parsed));
  }
  return to_int(ExitStatus::kUsage);
}
