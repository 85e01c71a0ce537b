// Everything below stage 2: in a container that is the pid namespace, without one the tree of its children.
#pragma once

namespace loom::stage2 {

void signal_all(bool container, int signal);
// Living processes below but `bridge`; zombies are not counted.
unsigned count_all(bool container, int bridge);

}  // namespace loom::stage2
