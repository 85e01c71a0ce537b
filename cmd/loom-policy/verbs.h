// The verbs: each answers on stdout and says what went wrong on stderr. kOk; kNo when the answer is no (refused,
// invalid, differing); kUsage when an input cannot be read or the command line makes no sense.
#pragma once

#include <array>
#include <string_view>

#include "base/exit_status.h"
#include "cli/command_line.h"

namespace loom::policy_tool {

[[nodiscard]] ExitStatus make_default(const cli::Parsed& parsed);
[[nodiscard]] ExitStatus check(const cli::Parsed& parsed);
[[nodiscard]] ExitStatus convert(const cli::Parsed& parsed);
[[nodiscard]] ExitStatus digest(const cli::Parsed& parsed);
[[nodiscard]] ExitStatus compose_files(const cli::Parsed& parsed);
[[nodiscard]] ExitStatus explain(const cli::Parsed& parsed);
[[nodiscard]] ExitStatus diff(const cli::Parsed& parsed);

struct VerbRow {
  std::string_view name;
  ExitStatus (*run)(const cli::Parsed&);
};
[[nodiscard]] inline std::array<VerbRow, 7> verbs() {
  return {{{"default", make_default},
           {"check", check},
           {"convert", convert},
           {"digest", digest},
           {"compose", compose_files},
           {"explain", explain},
           {"diff", diff}}};
}

}  // namespace loom::policy_tool
