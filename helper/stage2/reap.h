// The end of the command and of what it left: TERM and CONT to all, a grace, then this process leaves and the kernel
// ends the rest with it (spec/jail.md "Ending").
#pragma once

#include "helper/stage2/orders.h"

namespace loom::stage2 {

struct Reaper {
  int command;     // the pid whose end is the command's end
  bool container;  // pid 1 of a namespace; else a subreaper that finds its descendants itself
  int signals;     // a signalfd for SIGCHLD
  int listener;    // of the command's watched calls, or -1
  const Orders* orders;
  int bridge;    // the pid of the bridge, 0 without one: no descendant of the command
  int lifeline;  // closed, it ends the bridge; -1 without one
};

// Obeys and reaps until nothing is left or no more may be waited for; says kEnded and kLeft. Returns when it is time to
// leave.
void reap_all(const Reaper& reaper);
// KILL to everything below, at once: the helper is gone.
void kill_all(bool container);

}  // namespace loom::stage2
