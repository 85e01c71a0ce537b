// Misdeed: a tracer suspends the filter of its child
// Witness: it traces it
#include <sys/ptrace.h>
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
  allowed("trace it", ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0);
  forbidden("suspend", ::ptrace(PTRACE_SETOPTIONS, child, nullptr, 1UL << 21U) == 0);  // PTRACE_O_SUSPEND_SECCOMP
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

const Program kProgram{"suspend_seccomp", &run};

}  // namespace
}  // namespace loom::probes
