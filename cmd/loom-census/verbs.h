// The verbs: each answers on stdout and says what went wrong on stderr.
#pragma once

#include "base/exit_status.h"
#include "broker/census.h"
#include "cli/command_line.h"

namespace loom::census {

// kOk; kNo when a part that is here could not be asked (the answer is given all the same, with what is known).
[[nodiscard]] ExitStatus show_local(const cli::Parsed& parsed);
// kOk; kUsage when no broker answers.
[[nodiscard]] ExitStatus show_broker(const cli::Parsed& parsed);
// kOk when nothing is lacking, kNo when something is, kUsage when no helper answers.
[[nodiscard]] ExitStatus show_doctor(const cli::Parsed& parsed);
// kOk when nothing differs, kNo when something does, kUsage when a census cannot be read.
[[nodiscard]] ExitStatus show_skew(const cli::Parsed& parsed);

// One census as the flags ask: a line of JSON, or rows for people.
[[nodiscard]] ExitStatus print_census(const cli::Parsed& parsed, const broker::Census& census,
                                      const std::vector<Error>& faults = {});

}  // namespace loom::census
