// The plan's look at the host: lstat and readlink of one path (plan/mount_plan.h NodeFacts). Runs in a builder, where a
// hung file system holds up nobody else.
#pragma once

#include "plan/mount_plan.h"

namespace loom::helper {

[[nodiscard]] NodeFacts look_at_host(const Path& path);

}  // namespace loom::helper
