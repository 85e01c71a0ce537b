// What each verb does, given its parsed line: an exit status comes out, everything said was said (spec/broker.md,
// spec/cli.md).
#pragma once

#include "base/result.h"
#include "cli/command_line.h"

namespace loom::broker {

inline constexpr const char* kTool = "loom-broker";

// One line on stderr, with the entry of loom-runbook(7) that its code has.
void say_error(const Error& error);

[[nodiscard]] int run_verb(const cli::Parsed& parsed);
[[nodiscard]] int call_verb(const cli::Parsed& parsed);
[[nodiscard]] int serve_verb(const cli::Parsed& parsed);
[[nodiscard]] int ask_verb(const cli::Parsed& parsed);  // cancel, abort, abort-step, snapshot, census, stop
[[nodiscard]] int smoke_verb(const cli::Parsed& parsed);

}  // namespace loom::broker
