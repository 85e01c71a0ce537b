#include "base/runbook.h"
#include "cli/output.h"
#include "verbs.h"

namespace loom::broker {

void say_error(const Error& error) {
  cli::say_error(kTool, with_runbook_entry(error));
}

}  // namespace loom::broker
