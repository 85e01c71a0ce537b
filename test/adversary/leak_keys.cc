// Misdeed: the names of the starter's keys are read
// Witness: the rest of what the kernel tells there is
// Run: native
#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("what the machine has", reads("/proc/meminfo"));
  forbidden("keys", reads("/proc/keys"));
  forbidden("whose they are", reads("/proc/key-users"));
}

const Program kProgram{"leak_keys", &run};

}  // namespace
}  // namespace loom::probes
