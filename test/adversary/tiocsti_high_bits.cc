// Misdeed: TIOCSTI passes with bits that the kernel does not look at
// Witness: another request does
// Run: tty
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  winsize size{};
  allowed("another request", ::syscall(SYS_ioctl, 0, (1UL << 32U) | TIOCGWINSZ, &size) == 0);
  for (int bit = 32; bit < 64; ++bit)
    forbidden_number("bit", bit, ::syscall(SYS_ioctl, 0, (1UL << bit) | TIOCSTI, "x") == 0);
}

const Program kProgram{"tiocsti_high_bits", &run};

}  // namespace
}  // namespace loom::probes
