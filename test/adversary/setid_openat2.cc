// Misdeed: a set-id file is made by openat2, whose mode no filter can read
// Witness: a plain mode can be given
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

long opened(unsigned long mode) {
  const unsigned long how[3] = {O_CREAT | O_WRONLY, mode, 0};
  return ::syscall(SYS_openat2, AT_FDCWD, "made", how, sizeof how);
}

void run(char** /*arguments*/) {
  const int fd = ::open("victim", O_CREAT | O_RDWR, 0644);
  allowed("a plain mode", fd >= 0 && ::fchmod(fd, 0755) == 0);
  for (const unsigned long bits : {S_ISUID + 0755UL, S_ISGID + 0755UL, S_ISUID + S_ISGID + 0777UL, S_ISUID + 0UL}) {
    forbidden_number("mode", static_cast<long>(bits), opened(bits) >= 0);
    ::unlink("made");
  }
}

const Program kProgram{"setid_openat2", &run};

}  // namespace
}  // namespace loom::probes
