// Misdeed: processor time past its ceiling
// Witness: some of it
// Run: unended limit.cpu_s=1
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("begin", true);
  ::signal(SIGXCPU, SIG_IGN);
  for (;;) {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    if (used.ru_utime.tv_sec + used.ru_stime.tv_sec >= 4) break;
  }
  forbidden("four seconds of one", true);
}

const Program kProgram{"cpu_burn", &run};

}  // namespace
}  // namespace loom::probes
