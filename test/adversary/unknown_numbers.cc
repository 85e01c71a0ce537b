// Misdeed: a system call that nobody judged answers
// Witness: a known one does
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("a known one", ::syscall(SYS_getpid) == ::getpid());
  for (long number = 470; number < 600; ++number) {
    errno = 0;
    if (::syscall(number, 0, 0, 0, 0, 0, 0) >= 0 || errno != ENOSYS) forbidden_number("number", number, true);
  }
  errno = 0;
  forbidden("-1", ::syscall(-1L) >= 0 || errno != ENOSYS);
}

const Program kProgram{"unknown_numbers", &run};

}  // namespace
}  // namespace loom::probes
