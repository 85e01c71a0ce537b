// Misdeed: what others do is watched by performance counters
// Witness: its own times can be asked for
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  tms times{};
  allowed("its times", ::times(&times) >= 0);
  perf_event_attr attribute{};
  attribute.size = sizeof attribute;
  attribute.type = PERF_TYPE_SOFTWARE;
  attribute.exclude_kernel = 1;
  for (const int pid : {0, -1, 1})
    forbidden_number("perf_event_open", pid, ::syscall(SYS_perf_event_open, &attribute, pid, 0, -1, 0) >= 0);
}

const Program kProgram{"perf_events", &run};

}  // namespace
}  // namespace loom::probes
