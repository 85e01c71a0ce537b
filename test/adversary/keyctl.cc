// Misdeed: a keyring of the host is joined, read or written
// Witness: its own ids can be asked for
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its id", ::getuid() != 0);
  for (int operation = 0; operation < 33; ++operation) {
    for (const long ring : {-1L, -2L, -3L, -4L, -5L}) {
      if (::syscall(SYS_keyctl, operation, ring, 0, 0, 0) >= 0) forbidden_number("keyctl", operation, true);
    }
  }
  forbidden("join a session", ::syscall(SYS_keyctl, 1, "loom", 0, 0, 0) >= 0);
}

const Program kProgram{"keyctl", &run};

}  // namespace
}  // namespace loom::probes
