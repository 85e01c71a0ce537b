// Misdeed: a program is loaded into the kernel
// Witness: a program can be executed
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("read one", reads("/proc/self/exe"));
  for (int command = 0; command < 37; ++command) {
    bpf_attr attribute{};
    forbidden_number("bpf", command, ::syscall(SYS_bpf, command, &attribute, sizeof attribute) >= 0);
  }
}

const Program kProgram{"bpf", &run};

}  // namespace
}  // namespace loom::probes
