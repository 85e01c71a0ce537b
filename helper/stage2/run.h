// The phases of stage 2, in order: close the doors, take the orders, look, start the command, reap. See spec/jail.md
// "Stage 2".
#pragma once

namespace loom::stage2 {

// What _start calls; the answer is the exit status (0: a word was said on the control socket, whatever it was).
int run();

}  // namespace loom::stage2
