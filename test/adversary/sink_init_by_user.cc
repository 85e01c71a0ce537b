// Misdeed: the priority of init is lowered together with all processes of its user
// Witness: its own can be
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its own", ::setpriority(PRIO_PROCESS, 0, 5) == 0);
  ::setpriority(PRIO_USER, 0, 19);
  ::setpriority(PRIO_USER, ::getuid(), 19);
  ::syscall(SYS_ioprio_set, 3, ::getuid(), 3 << 13);
  forbidden("init", ::getpriority(PRIO_PROCESS, 1) > 5);
}

const Program kProgram{"sink_init_by_user", &run};

}  // namespace
}  // namespace loom::probes
