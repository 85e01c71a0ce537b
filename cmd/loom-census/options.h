// The command line of loom-census, as data.
#pragma once

#include <string_view>

#include "cli/command_line.h"

namespace loom::census {

inline constexpr std::string_view kTool = "loom-census";
[[nodiscard]] const cli::Tool& tool();

}  // namespace loom::census
