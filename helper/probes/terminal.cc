// Misdeed: types into the terminal of whoever started it, hangs it up, opens those of the machine.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

constexpr unsigned long kLinux = 0x541c;  // TIOCLINUX

void run(char** /*arguments*/) {
  winsize size{};
  allowed("have a terminal", ::isatty(0) == 1 && ::ioctl(0, TIOCGWINSZ, &size) == 0 && size.ws_row > 0);
  allowed("open it by name", opens("/dev/tty", O_RDWR));
  const char* letters = "x";
  forbidden("TIOCSTI", ::syscall(SYS_ioctl, 0, TIOCSTI, letters) == 0);
  // The request is an int: the kernel looks at the low half of the register.
  forbidden("TIOCSTI with high bits", ::syscall(SYS_ioctl, 0, (1UL << 32U) | TIOCSTI, letters) == 0);
  char subcode[2] = {2, 0};
  forbidden("TIOCLINUX", ::syscall(SYS_ioctl, 0, kLinux, subcode) == 0);
  forbidden("TIOCCONS", ::ioctl(0, TIOCCONS) == 0);
  forbidden("vhangup", ::vhangup() == 0);
  for (const char* path : {"/dev/console", "/dev/tty0", "/dev/tty1", "/dev/vcs", "/dev/ttyS0"}) {
    forbidden(path, exists(path));
  }
}

const Program kProgram{"terminal", &run};

}  // namespace
}  // namespace loom::probes
