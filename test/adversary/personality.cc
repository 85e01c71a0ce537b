// Misdeed: another personality opens what is refused
// Witness: it can be asked for
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("ask for it", ::personality(0xffffffff) >= 0);
  for (const unsigned long kind : {0x0008UL, 0x0100000UL, 0x0400000UL, 0x0040000UL}) {
    ::personality(kind);
    forbidden("keyctl", ::syscall(SYS_keyctl, 0, -3, 0) >= 0);
    forbidden("a socket", ::syscall(SYS_socket, 2, 1, 0) >= 0);
  }
}

const Program kProgram{"personality", &run};

}  // namespace
}  // namespace loom::probes
