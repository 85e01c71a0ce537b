// Misdeed: a process that another holds by tracing outlives its jail
// Witness: it is there before the end
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int alive = ::open("alive", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  int said[2];
  allowed("the lock", alive >= 0 && ::flock(alive, LOCK_SH) == 0 && ::pipe(said) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t held = ::fork();
    if (held == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      for (;;) ::pause();
    }
    ::waitpid(held, nullptr, 0);
    ::signal(SIGTERM, SIG_IGN);
    if (::write(said[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  allowed("it is there", ::read(said[0], &byte, 1) == 1);
}

const Program kProgram{"survive_traced", &run};

}  // namespace
}  // namespace loom::probes
