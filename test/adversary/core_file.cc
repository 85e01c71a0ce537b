// Misdeed: a core file with the memory of a process is left
// Witness: a process ends by a signal
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const rlimit most{RLIM_INFINITY, RLIM_INFINITY};
  forbidden("a higher limit", ::setrlimit(RLIMIT_CORE, &most) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSEGV);
    ::_exit(0);
  }
  int status = 0;
  allowed("end by a signal", ::waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  forbidden("a core", WCOREDUMP(status) || exists("core"));
}

const Program kProgram{"core_file", &run};

}  // namespace
}  // namespace loom::probes
