// Misdeed: init of the jail is ended or stopped by a signal
// Witness: a child can be
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  allowed("end a child", child > 0 && ::kill(child, SIGKILL) == 0 && ::waitpid(child, nullptr, 0) == child);
  for (int signal = 1; signal < 65; ++signal) ::kill(1, signal);
  for (int signal = 1; signal < 65; ++signal) ::sigqueue(1, signal, {});
  forbidden("its end", !exists("/proc/1/stat"));
}

const Program kProgram{"kill_init", &run};

}  // namespace
}  // namespace loom::probes
