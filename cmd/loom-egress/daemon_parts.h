// What the two daemons of loom-egress have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "cli/command_line.h"

namespace loom::egress_tool {

// A flag that names a descriptor. Error: bad_argument.
[[nodiscard]] Result<std::optional<int>> descriptor_flag(const cli::Parsed& parsed, const char* flag);

// How many connections of `each` descriptors can be served with what this process may still open, `spare` set aside; at
// least one and at most `most`.
[[nodiscard]] std::size_t descriptor_room(std::size_t each, std::size_t spare, std::size_t most);

// Since 1970: for records and for what expires.
[[nodiscard]] std::int64_t wall_clock_ms();

}  // namespace loom::egress_tool
