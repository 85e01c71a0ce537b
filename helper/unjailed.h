// An execution where the platform has no jail: the command with its streams, its environment, its clock and its cancel,
// and a report that begins with skip:jail. Nothing is enforced, and nothing is claimed (spec/jail.md "A platform with
// no jail"). Only for callers who said that they know (--allow-unenforced), and never under the demand full.
#pragma once

#include <memory>

#include "helper/execution.h"

namespace loom::helper {

// As start_execution. The whole process group is ended with the command; what left it is not found.
[[nodiscard]] std::unique_ptr<Execution> start_unjailed(Loop& loop, const HostContext& host, ExecRequest request,
                                                        ExecEvents events);

}  // namespace loom::helper
