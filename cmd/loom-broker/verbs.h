// What each verb does, given its parsed line: an exit status comes out, everything said was said (spec/broker.md,
// spec/cli.md).
#pragma once

#include "cli/command_line.h"

namespace loom::broker {

inline constexpr const char* kTool = "loom-broker";

[[nodiscard]] int run_verb(const cli::Parsed& parsed);
[[nodiscard]] int call_verb(const cli::Parsed& parsed);
[[nodiscard]] int serve_verb(const cli::Parsed& parsed);
[[nodiscard]] int ask_verb(const cli::Parsed& parsed);  // cancel, abort, abort-step, snapshot, census, stop
[[nodiscard]] int smoke_verb(const cli::Parsed& parsed);

}  // namespace loom::broker
