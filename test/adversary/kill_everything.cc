// Misdeed: a signal to everybody reaches more than the jail, and loom does not notice
// Witness: a child was there
// Run: unended
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("begin", ::fork() >= 0);
  ::kill(-1, SIGKILL);
  ::kill(0, SIGKILL);
  for (;;) ::pause();
}

const Program kProgram{"kill_everything", &run};

}  // namespace
}  // namespace loom::probes
