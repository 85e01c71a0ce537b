// Misdeed: text of the console is pasted or read
// Witness: its settings can be asked for
// Run: tty
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  termios settings{};
  allowed("its settings", ::tcgetattr(0, &settings) == 0);
  for (char code = 0; code < 18; ++code) {
    char subcode[8] = {code};
    forbidden_number("TIOCLINUX", code, ::syscall(SYS_ioctl, 0, 0x541c, subcode) >= 0);
  }
  forbidden("the console's output", ::ioctl(0, TIOCCONS) == 0);
}

const Program kProgram{"tioclinux", &run};

}  // namespace
}  // namespace loom::probes
