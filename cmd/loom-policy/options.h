// The command line of loom-policy, as data.
#pragma once

#include <string_view>

#include "cli/command_line.h"

namespace loom::policy_tool {

inline constexpr std::string_view kTool = "loom-policy";
[[nodiscard]] const cli::Tool& tool();

}  // namespace loom::policy_tool
