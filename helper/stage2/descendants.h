// Everything below stage 2: in a container that is the pid namespace, without one the tree of its children.
#pragma once

namespace loom::stage2 {

void signal_all(bool container, int signal);
// Living processes below; zombies are not counted.
unsigned count_all(bool container);

}  // namespace loom::stage2
