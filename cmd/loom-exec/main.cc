// loom-exec: run one command under one policy in a jail, and say what was really enforced (spec/jail.md).

#include <string_view>
#include <utility>

#include "cli/output.h"
#include "options.h"
#include "verbs.h"

namespace {

using namespace loom;

int dispatch(const cli::Parsed& parsed, exec::JailFlags flags) {
  const std::string& verb = parsed.verb->name;
  if (verb == "run") return exec::run_verb(parsed, std::move(flags));
  if (verb == "serve") return exec::serve_verb(parsed, std::move(flags));
  if (verb == "self-test") return exec::self_test_verb(parsed, std::move(flags));
  return exec::features_verb(parsed, std::move(flags));
}

}  // namespace

int main(int argc, char** argv) {
  cli::prepare_process();
  const cli::Outcome outcome = cli::parse_command_line(exec::tool(), argc, argv);
  if (!outcome.parsed) {
    if (!outcome.to_stdout) {
      cli::say(std::string_view(outcome.text).substr(0, outcome.text.size() - 1));
      return outcome.status;
    }
    const ExitStatus written = cli::answer(exec::tool().name, outcome.text);
    return written == ExitStatus::kOk ? outcome.status : to_int(written);
  }
  auto flags = exec::read_jail_flags(*outcome.parsed);
  if (!flags) {
    cli::say_error(exec::tool().name, flags.error());
    return to_int(outcome.parsed->verb->usage_status);
  }
  return dispatch(*outcome.parsed, std::move(*flags));
}
