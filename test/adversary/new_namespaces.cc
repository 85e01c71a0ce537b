// Misdeed: any other namespace of its own
// Witness: a plain fork
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  allowed("fork", child > 0 && ::waitpid(child, nullptr, 0) == child);
  for (const int flag : {CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80}) {
    forbidden_number("unshare", flag, ::unshare(flag) == 0);
  }
}

const Program kProgram{"new_namespaces", &run};

}  // namespace
}  // namespace loom::probes
