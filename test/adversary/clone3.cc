// Misdeed: clone3, whose flags no filter can read, answers
// Witness: clone does
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  allowed("fork", child > 0 && ::waitpid(child, nullptr, 0) == child);
  for (const unsigned long flags : {0UL, 0x10000000UL, 0x200000000UL}) {
    const unsigned long wanted[11] = {flags, 0, 0, 0, SIGCHLD};
    const long made = ::syscall(SYS_clone3, wanted, sizeof wanted);
    if (made == 0) ::_exit(0);
    forbidden("clone3", made >= 0 || errno != ENOSYS);
  }
}

const Program kProgram{"clone3", &run};

}  // namespace
}  // namespace loom::probes
