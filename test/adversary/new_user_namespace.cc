// Misdeed: a user namespace of its own gives capabilities in it
// Witness: a plain clone
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const auto clones = [](long flags) {
    const long child = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) ::_exit(0);
    return child > 0 && ::waitpid(static_cast<pid_t>(child), nullptr, 0) == child;
  };
  allowed("clone", clones(0));
  forbidden("clone in a user namespace", clones(CLONE_NEWUSER));
  forbidden("unshare", ::unshare(CLONE_NEWUSER) == 0);
  forbidden("its map", writes("/proc/self/uid_map", "0 0 1"));
}

const Program kProgram{"new_user_namespace", &run};

}  // namespace
}  // namespace loom::probes
