// Looking from inside, before the go: what stage 2 saw itself, and nothing it was only told (spec/jail.md "verified").
#pragma once

#include "helper/stage2/orders.h"
#include "helper/stage2/protocol.h"

namespace loom::stage2 {

// Everything but what only the command's own process can see (Landlock, rlimits; seccomp when its calls are watched).
void look_around(const Orders& orders, Report& report);
// The filter of the calling process, by one refused call per action.
void look_at_filter(const Orders& orders, Report& report);
void note(Report& report, Witness witness, int error);  // 0: seen

}  // namespace loom::stage2
