// One function a verb: what main maps to an exit status.
#pragma once

#include "cli/command_line.h"
#include "options.h"

namespace loom::exec {

[[nodiscard]] int run_verb(const cli::Parsed& parsed, JailFlags flags);
[[nodiscard]] int serve_verb(const cli::Parsed& parsed, JailFlags flags);
[[nodiscard]] int features_verb(const cli::Parsed& parsed, JailFlags flags);
[[nodiscard]] int self_test_verb(const cli::Parsed& parsed, JailFlags flags);

}  // namespace loom::exec
