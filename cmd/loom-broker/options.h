// The command line of loom-broker, as data (spec/broker.md).
#pragma once

#include "cli/command_line.h"

namespace loom::broker {

[[nodiscard]] cli::Tool broker_tool();

}  // namespace loom::broker
