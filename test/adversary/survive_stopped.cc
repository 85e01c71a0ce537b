// Misdeed: a stopped process outlives its jail
// Witness: it is stopped
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int alive = ::open("alive", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  allowed("the lock", alive >= 0 && ::flock(alive, LOCK_SH) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::signal(SIGCONT, SIG_IGN);
    for (;;) ::raise(SIGSTOP);
  }
  int status = 0;
  allowed("it is stopped", ::waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
}

const Program kProgram{"survive_stopped", &run};

}  // namespace
}  // namespace loom::probes
