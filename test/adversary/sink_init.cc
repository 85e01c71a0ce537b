// Misdeed: init is put behind everything by priority, scheduler, processor or memory score
// Witness: its own priority can be lowered
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its own", ::setpriority(PRIO_PROCESS, 0, 5) == 0);
  forbidden("priority", ::setpriority(PRIO_PROCESS, 1, 19) == 0);
  forbidden("of its group", ::setpriority(PRIO_PGRP, 1, 19) == 0);
  const sched_param none{};
  forbidden("scheduler", ::sched_setscheduler(1, 5, &none) == 0);
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  forbidden("processor", ::sched_setaffinity(1, sizeof first, &first) == 0);
  forbidden("disk", ::syscall(SYS_ioprio_set, 1, 1, 3 << 13) == 0);
  forbidden("memory score", opens("/proc/1/oom_score_adj", O_WRONLY));
}

const Program kProgram{"sink_init", &run};

}  // namespace
}  // namespace loom::probes
