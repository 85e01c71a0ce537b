// Misdeed: a signal that the starter blocked or ignored stays so
// Witness: the default kills
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < 65; ++signal) {
    struct sigaction act {};
    if (::sigaction(signal, nullptr, &act) == 0 && act.sa_handler != SIG_DFL) forbidden_number("ignored", signal, true);
    if (::sigismember(&mask, signal) == 1) forbidden_number("blocked", signal, true);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGUSR1);
    ::raise(SIGUSR2);
    ::_exit(0);
  }
  int status = 0;
  allowed("the default", ::waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

const Program kProgram{"leak_signals", &run};

}  // namespace
}  // namespace loom::probes
