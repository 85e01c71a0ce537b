// The plan as an argv for bubblewrap: the fallback of an ordinary user where the native backend cannot build
// (spec/jail.md "Parts", "bwrap"). Pure; golden-tested. Bubblewrap makes the namespaces and the mounts and executes
// stage 2 as pid 1; every other layer, the report and the ending are ours as ever.
//
// A reduced plan: no placeholders, no pins of links, no readable root of "/". Every destination inside a granted tree
// exists when the plan is made, so that bubblewrap has none to create there: releases before 0.12 create missing ones
// through links that lie in the workspace, on the host. Another process that swaps a path in between can still bring it
// to that; what it mounted is looked at from inside before the go, what it created is not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/mount_plan.h"

namespace loom {

// A file in the jail's root that only Landlock refuses.
inline constexpr char kBwrapWitness[] = "/.loom-witness";
inline constexpr std::size_t kBwrapMostArguments = 9000;  // its own limit

struct BwrapCommand {
  std::vector<std::string> argv;       // without the program's own name; ends with "--" and the program to execute
  std::size_t empty_files = 0;         // how many descriptors at `first_empty` and after must read as empty files
  std::vector<std::string> unguarded;  // paths that this backend leaves unpinned
};

// `program`: what bubblewrap executes. `first_empty`: the number of the first descriptor that it may read.
// Errors: plan_refused (a readable or writable root of "/", more arguments than it takes).
[[nodiscard]] Result<BwrapCommand> bwrap_command(const MountPlan& plan, bool host_network, const std::string& program,
                                                 int first_empty);

}  // namespace loom
