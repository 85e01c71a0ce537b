// Whether a peer of the proxy's socket is the bridge of a jail (spec/egress.md "How the jail reaches it").
#pragma once

#include <sys/types.h>

namespace loom::egress_tool {

// `pid` as SO_PEERCRED tells it. A jail's bridge has the second number of the jail's own pid namespace as long as the
// jail lives, and nobody in the jail can make another namespace. Whoever has ended is none.
[[nodiscard]] bool is_bridge(pid_t pid);

}  // namespace loom::egress_tool
