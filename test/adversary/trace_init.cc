// Misdeed: init of the jail is traced
// Witness: a child is
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
  allowed("trace a child", ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  forbidden("seize", ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) == 0);
  forbidden("attach", ::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr) == 0);
}

const Program kProgram{"trace_init", &run};

}  // namespace
}  // namespace loom::probes
