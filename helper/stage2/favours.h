// What the scheduler, the disks and the memory's end owe the starter and not a command that nobody trusts: real time, a
// better nice value, the first turn at the disk, being spared when memory ends, and the right to any of them. A starter
// that is favoured less than others stays so, and so does what it starts.
#pragma once

namespace loom::stage2 {

// In init, as long as it is its own to change in /proc; everything that it starts has what it has.
void give_up_favours();

}  // namespace loom::stage2
