// Misdeed: the x32 numbers reach the same calls past the filter
// Witness: the usual ones do
// Run: arch=x86_64
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("the usual", ::syscall(SYS_getpid) == ::getpid());
  for (const long number : {39L, 2L, 41L, 250L, 257L, 512L, 520L, 547L}) {
    errno = 0;
    forbidden_number("x32", number, ::syscall(0x40000000L | number, 0, 0, 0, 0, 0, 0) >= 0 || errno != ENOSYS);
  }
}

const Program kProgram{"x32", &run};

}  // namespace
}  // namespace loom::probes

#endif
