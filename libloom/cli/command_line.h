// One manner of command line for the five tools: declared as data, parsed by the CLI11 adapter in command_line.cc (no
// CLI11 header leaves it), worded by us. Carries out: spec/cli.md (help, unknown flags, `--`, the command's beginning).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.h"
#include "base/result.h"

namespace loom::cli {

struct Option {
  std::string name;      // "--policy"
  std::string argument;  // "FILE"; "" for a flag that takes none
  std::string help;      // one line
  bool repeatable =
      false;  // an option with an argument that is not is refused when given twice; a flag may be repeated
  bool optional_argument =
      false;  // --why[=paths]: the value only after '='; --env NAME[=VALUE] is NOT this (it has an argument)
  bool may_be_empty = false;  // else an empty value (a script's unset variable) is refused, not taken for "not given"
};

enum class Rest {
  kNone,
  kPositionals,
  kCommand
};  // kCommand: `[--] CMD...`, options end at the first word that is none

struct Verb {
  std::string name;      // "run"; "" for a tool without verbs
  std::string synopsis;  // "[flags] [--] CMD..."
  std::string summary;   // one line, for the tool's --help
  std::vector<Option> options;
  Rest rest = Rest::kNone;
  std::vector<std::string> positionals;  // their names, for kPositionals: "FILE", "DIR"; a name in [brackets] may be
                                         // absent, one with "..." repeats
  ExitStatus usage_status = ExitStatus::kUsage;  // 125 for run and call
  std::vector<std::string>
      examples;  // two; with the flags they fit 24 lines of 80 columns (keep summaries and help short)
};

struct Tool {
  std::string name;  // "loom-exec"
  std::string summary;
  std::vector<Verb> verbs;
  std::vector<std::string> examples;
  std::string page;  // "loom-exec(1)"
};

struct Parsed {
  const Verb* verb = nullptr;
  std::map<std::string, std::vector<std::string>>
      options;                    // by name, in order of appearance; a flag holds "" each time
  std::vector<std::string> rest;  // positionals, or the command
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;  // the last one given
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
};

// What main does next: either a parsed line, or print `text` to stdout (help, version: status 0) or to stderr (usage
// error) and leave with `status`.
struct Outcome {
  std::optional<Parsed> parsed;
  std::string text;
  bool to_stdout = false;
  int status = 0;
};
// Never exits, never throws. --help, VERB --help and --version are answered for every tool.
[[nodiscard]] Outcome parse_command_line(const Tool& tool, int argc, const char* const* argv);

// Durations: 500ms, 30s, 5m, 1h to milliseconds. Counts: decimal, no sign. Errors are bad_argument and say what is
// wanted.
[[nodiscard]] Result<std::uint64_t> parse_duration_ms(std::string_view text);
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text);

}  // namespace loom::cli
