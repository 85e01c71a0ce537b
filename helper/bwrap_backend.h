// The bwrap backend (spec/jail.md "Parts"): bubblewrap, from its fixed place, makes the namespaces and mounts in the
// stead of the builder, then executes stage 2. For an ordinary user only: from root it would run the command as root of
// the host.
//
// What it is known for, and what is done about it: it passes descriptors and its signal mask on (it is given none but
// those that stage 2 closes or takes, and an empty mask), its environment (it gets none), waits for every descendant
// (stage 2 is pid 1 and ends them), and ends the wrong process when it is killed (stage 2 dies with it, and a cancel
// goes to stage 2 itself).
#pragma once

#include <string>

#include "helper/builder.h"
#include "helper/jail_orders.h"
#include "plan/bwrap_argv.h"

namespace loom::helper {

inline constexpr char kBwrapProgram[] = "/usr/bin/bwrap";

// "" when bubblewrap came up with every namespace, proc, dev and a tmpfs; else why not, in words. Some ten
// milliseconds.
[[nodiscard]] std::string probe_bwrap(const HostContext& host);

[[nodiscard]] Result<BwrapCommand> command_for(const BuildJob& job, const MountPlan& plan);
// In the builder, when the orders are in the socket: executes bubblewrap; returns only with what kept it from that.
[[nodiscard]] Error become_bwrap(const BuildJob& job, BwrapCommand command);

}  // namespace loom::helper
