// The texts a command line answers by itself: help that fits a screen of 80 columns, and the version line. Pure.
// Carries out: spec/cli.md (`--help` fits one screen, ends with two examples and the page's name; `--version`).
#pragma once

#include <string>

#include "cli/command_line.h"

namespace loom::cli {

// The tool's own: its verbs with their summaries, or the flags of a tool without verbs. Ends with a newline.
[[nodiscard]] std::string tool_help(const Tool& tool);
[[nodiscard]] std::string verb_help(const Tool& tool, const Verb& verb);
// "loom-exec 0.1.0 (wire: envelope 1, exec 4, control 1, capability 1; policy 3)\n"
[[nodiscard]] std::string version_line(const Tool& tool);

}  // namespace loom::cli
