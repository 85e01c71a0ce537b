// Misdeed: the terminal is hung up, or the starter is thrown off it
// Witness: it can be written
// Run: tty
#include <sys/ioctl.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("write it", ::write(1, "", 0) == 0);
  forbidden("vhangup", ::vhangup() == 0);
  forbidden("steal another's", ::ioctl(0, TIOCSCTTY, 1) == 0 && ::getsid(0) != ::getpid() && ::getsid(0) == 0);
}

const Program kProgram{"hang_up", &run};

}  // namespace
}  // namespace loom::probes
