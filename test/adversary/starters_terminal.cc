// Misdeed: the terminal of the starter is opened
// Witness: a pseudo terminal of its own
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("one of its own", ::posix_openpt(O_RDWR | O_NOCTTY) >= 0);
  forbidden("/dev/tty", opens("/dev/tty", O_RDWR));
  for (const char* path :
       {"/dev/tty0", "/dev/tty1", "/dev/console", "/dev/pts/1", "/dev/pts/2", "/dev/vcs", "/dev/ttyS0"}) {
    forbidden(path, opens(path, O_RDWR) && *path != '\0');
  }
  for (int fd = 0; fd < 3; ++fd) forbidden_number("a stream that is a terminal", fd, ::isatty(fd) == 1);
}

const Program kProgram{"starters_terminal", &run};

}  // namespace
}  // namespace loom::probes
