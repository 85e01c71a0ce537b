// Misdeed: the limits of init are lowered until it falls
// Witness: its own can be
#include <sys/resource.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const rlimit none{0, 0};
  const rlimit some{64, 64};
  allowed("its own", ::setrlimit(RLIMIT_NOFILE, &some) == 0);
  for (const auto resource : {RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_STACK, RLIMIT_NPROC, RLIMIT_DATA}) {
    forbidden_number("limit", resource, ::prlimit(1, resource, &none, nullptr) == 0);
  }
}

const Program kProgram{"starve_init", &run};

}  // namespace
}  // namespace loom::probes
