// The verbs: each is one row, made in the file of its deed. A deed answers on stdout and says what went wrong on
// stderr; kOk, kNo when the answer is no (refused, failed), kUsage when an input cannot be read or the command line
// makes no sense.
#pragma once

#include <vector>

#include "base/exit_status.h"
#include "cli/command_line.h"

namespace loom::egress_tool {

struct VerbRow {
  cli::Verb declared;
  ExitStatus (*run)(const cli::Parsed&);
};

[[nodiscard]] VerbRow request_verb();
[[nodiscard]] VerbRow proxy_verb();
[[nodiscard]] VerbRow check_verb();
[[nodiscard]] VerbRow serve_verb();

// In the order of --help.
[[nodiscard]] std::vector<VerbRow> verbs();

}  // namespace loom::egress_tool
