// Misdeed: letters are typed into the terminal that it has
// Witness: its size can be asked for
// Run: tty
#include <sys/ioctl.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  winsize size{};
  allowed("its size", ::ioctl(0, TIOCGWINSZ, &size) == 0);
  for (const char* letter = "reboot"; *letter != '\0'; ++letter) forbidden("type", ::ioctl(0, TIOCSTI, letter) == 0);
}

const Program kProgram{"tiocsti", &run};

}  // namespace
}  // namespace loom::probes
