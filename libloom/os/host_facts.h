// The plan's look at this host (plan/mount_plan.h HostFacts): lstat and readlink, one path at a time, nothing followed,
// nothing written. A placeholder (os/placeholder.h) is missing. A hung file system hangs the caller: whoever must not
// wait asks from a process of its own.
#pragma once

#include "plan/mount_plan.h"

namespace loom {

[[nodiscard]] NodeFacts look_at_host(const Path& path);

// The facts as an executor started by this user with this policy would find them.
[[nodiscard]] HostFacts host_facts(const Policy& policy);

}  // namespace loom
