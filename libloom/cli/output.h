// What the tools say, in one manner: stdout carries the answer, stderr everything said about it (spec/cli.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.h"
#include "base/result.h"
#include "base/value.h"

namespace loom::cli {

// Control bytes and bytes that are no UTF-8 as \xHH, so that no text from outside can draw on a terminal.
[[nodiscard]] std::string escape(std::string_view text);
// "loom-policy: base.json: /limits/pids: wrong type" and, when there is one, "\nhint: ...". No trailing newline.
[[nodiscard]] std::string error_line(std::string_view tool, const Error& error);
// To stderr, with a newline. Never throws; a closed stderr is ignored.
void say(std::string_view line);
void say_error(std::string_view tool, const Error& error);

// Writes all of `text` to stdout and reports what happened, so that a full disk is an error and a closed pipe is 141.
// Returns kOk, kPipe, or kNo after having said the error.
[[nodiscard]] ExitStatus answer(std::string_view tool, std::string_view text);
// {"ok":false,"errors":[{code,message,where,hint}]}
[[nodiscard]] Value no_answer(const std::vector<Error>& errors);

// Rows of cells: aligned when `aligned`, else tab-separated. The first row is the heading.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows, bool aligned);
[[nodiscard]] bool stdout_is_terminal();
[[nodiscard]] bool stderr_is_terminal();
[[nodiscard]] bool use_colour();  // a terminal, no NO_COLOR, TERM not dumb

// Called first in every main: SIGPIPE ignored (writes then give EPIPE, which answer() turns into 141) and SIGXFSZ (they
// give EFBIG), descriptors 0, 1 and 2 made to exist, and an exception that nobody caught said in words, with the status
// kMayHaveRun.
void prepare_process();

}  // namespace loom::cli
