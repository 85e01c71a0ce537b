// The command line of loom-exec: its verbs and flags as data, and the flags that are about the jail (spec/jail.md,
// spec/broker.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command_line.h"
#include "helper/host_context.h"

namespace loom::exec {

[[nodiscard]] const cli::Tool& tool();

struct JailFlags {
  helper::HostOptions host;
  std::optional<std::string> policy_file;  // serve: instead of descriptor 3
  unsigned capacity = 4;                   // serve: 1..4
};
// Errors are bad_argument; `where` is the flag.
[[nodiscard]] Result<JailFlags> read_jail_flags(const cli::Parsed& parsed);

}  // namespace loom::exec
