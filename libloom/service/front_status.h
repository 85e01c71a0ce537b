// The exit status of a call, from its end (spec/cli.md, the table of run and call). Pure.
#pragma once

#include "wire/call_refused.h"
#include "wire/call_settled.h"

namespace loom::service {

// The command's own, 124, 143, 125, 126, 127 or 123.
[[nodiscard]] int exit_status(const CallSettled& settled);
[[nodiscard]] int exit_status(const CallRefused& refused);

// The same when the report or a status line of it could not be written: 123 of what ran, and what did not run still did
// not.
[[nodiscard]] int exit_status_unreported(const CallSettled& settled);
[[nodiscard]] int exit_status_unreported(const CallRefused& refused);

}  // namespace loom::service
