// The command's refused calls, told: its filter asks init, which refuses each as the table says and remembers it, and,
// where asked for, looks at the paths of file calls before it lets them go on (spec/jail.md "--why").
//
// Invariants: what the table refuses is refused here, whatever else happens; "go on" is said only to calls that the
// orders list as file calls, and the kernel then judges them as if nobody had looked. What is remembered is bounded;
// the rest is counted. Init wears no filter of its own meanwhile: it could not answer itself.
#pragma once

#include "helper/stage2/orders.h"

namespace loom::stage2 {

enum class Remember { kNo, kYes };

// Takes the listener from `handoff` and answers the calls of the process that has the other end, until that process
// has become the command or ended. The listener, or -1 when there was none. Nothing is remembered: the calls are ours.
int answer_until_exec(const Orders& orders, int handoff);
// One call, which the listener has said is there.
void answer_one(const Orders& orders, int listener, Remember remember);
// How often each refused call was made: said once, at the end.
void say_counts();

}  // namespace loom::stage2
