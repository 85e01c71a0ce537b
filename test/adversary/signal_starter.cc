// Misdeed: a process of the host gets a signal
// Witness: its own does
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("its own", ::kill(::getpid(), 0) == 0);
  const pid_t starter = std::atoi(arguments[3]);
  forbidden("its starter", ::kill(starter, 0) == 0 || errno == EPERM);
  ::kill(starter, SIGUSR2);
  ::kill(-starter, SIGUSR2);
  forbidden("its parent", ::getppid() != 1);
}

const Program kProgram{"signal_starter", &run};

}  // namespace
}  // namespace loom::probes
