// The exit status of a call, from its end (spec/cli.md, the table of run and call). Pure.
#pragma once

#include "wire/call_refused.h"
#include "wire/call_settled.h"

namespace loom::service {

// The command's own, 124, 143, 125, 126, 127 or 123.
[[nodiscard]] int exit_status(const CallSettled& settled);
[[nodiscard]] int exit_status(const CallRefused& refused);

}  // namespace loom::service
