// Misdeed: more of the processors than others is taken
// Witness: less can be
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("less", ::setpriority(PRIO_PROCESS, 0, 10) == 0);
  forbidden("more", ::setpriority(PRIO_PROCESS, 0, -10) == 0 || ::nice(-1) != -1);
  sched_param most{};
  most.sched_priority = 1;
  forbidden("real time",
            ::sched_setscheduler(0, SCHED_FIFO, &most) == 0 || ::sched_setscheduler(0, SCHED_RR, &most) == 0);
  forbidden("the disk", ::syscall(SYS_ioprio_set, 1, 0, 1 << 13) == 0);
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  forbidden("the right to it", ::setrlimit(RLIMIT_RTPRIO, &all) == 0);
}

const Program kProgram{"better_priority", &run};

}  // namespace
}  // namespace loom::probes
