// The command's own process, from its birth to its exec: started with vfork semantics, so it shares stage 2's memory
// while stage 2 stands still (or answers its watched calls). Here the layers go on that pid 1 must not wear, and here
// the go is waited for (spec/jail.md "Stage 2").
#pragma once

#include "helper/stage2/orders.h"
#include "helper/stage2/protocol.h"

namespace loom::stage2 {

struct Start {
  const Orders* orders;
  Report report;       // what stage 2 saw; the command's process adds the rest and sends it
  int policy;          // the policy's orders, for a helper that must name what is wrong
  int streams[3];      // become 0, 1, 2
  int terminal;        // its controlling terminal, or -1
  int handoff;         // where the listener of watched calls goes, or -1: nothing is watched
  bool asks_way_out;   // the bridge runs: whether it leads to the proxy is asked before the go
  bool execed = true;  // false once anything kept it from the exec
};

// The body of the child: never returns.
[[noreturn]] void become_command(void* start);

}  // namespace loom::stage2
