// Misdeed: the ports of the machine are opened, or its segments changed
// Witness: its own times can be asked for
// Run: arch=x86_64
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its id", ::getpid() > 1);
  forbidden("iopl", ::syscall(SYS_iopl, 3) >= 0);
  forbidden("ioperm", ::syscall(SYS_ioperm, 0x80, 1, 1) >= 0);
  unsigned segment[4] = {0, 0, 0, 0};
  forbidden("modify_ldt", ::syscall(SYS_modify_ldt, 1, segment, sizeof segment) >= 0);
}

const Program kProgram{"ports", &run};

}  // namespace
}  // namespace loom::probes

#endif
