// The command line of loom-egress, as data. Each verb declares its own flags beside its deed (verbs.h).
#pragma once

#include <string_view>

#include "cli/command_line.h"

namespace loom::egress_tool {

inline constexpr std::string_view kTool = "loom-egress";
[[nodiscard]] cli::Tool tool();

}  // namespace loom::egress_tool
