// Misdeed: a set-id file is made by fchmod
// Witness: a plain mode can be given
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int fd = ::open("victim", O_CREAT | O_RDWR, 0644);
  allowed("a plain mode", fd >= 0 && ::fchmod(fd, 0755) == 0);
  for (const unsigned long bits : {S_ISUID + 0755UL, S_ISGID + 0755UL, S_ISUID + S_ISGID + 0777UL, S_ISUID + 0UL}) {
    forbidden_number("mode", static_cast<long>(bits), ::syscall(SYS_fchmod, fd, bits) == 0);
    ::unlink("made");
  }
}

const Program kProgram{"setid_fchmod", &run};

}  // namespace
}  // namespace loom::probes
