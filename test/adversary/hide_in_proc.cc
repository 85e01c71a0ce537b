// Misdeed: a process changes its /proc entries to look like another, or to escape the killer
// Witness: it can name itself
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("name itself", ::prctl(PR_SET_NAME, "loom-stage2", 0, 0, 0) == 0);
  forbidden("never be killed for memory", writes("/proc/self/oom_score_adj", "-1000"));
  forbidden("a smaller number", writes("/proc/sys/kernel/ns_last_pid", "0"));
  forbidden("its security label", writes("/proc/self/attr/current", "unconfined"));
  forbidden("its map of ids", writes("/proc/self/uid_map", "0 0 1") || writes("/proc/self/gid_map", "0 0 1"));
}

const Program kProgram{"hide_in_proc", &run};

}  // namespace
}  // namespace loom::probes
