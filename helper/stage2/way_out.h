// The way to the proxy, seen from inside: the bridge started, and its whole path asked once before the go
// (spec/egress.md "How the jail reaches it").
#pragma once

#include "helper/stage2/orders.h"

namespace loom::stage2 {

struct Bridge {
  int pid = 0;        // 0: none
  int lifeline = -1;  // the bridge leaves when this is closed
};

// Starts the bridge as this process's first child. `program` is opened for exec, `listener` listens on the jail's
// loopback; both are borrowed. The error is an errno.
int start_bridge(const Orders& orders, int program, int listener, Bridge& bridge);

// GET http://loom.invalid/ready through the bridge: 0 when the proxy answered 204, EPROTO when anything else came, else
// the errno of what failed.
int ask_way_out();

}  // namespace loom::stage2
