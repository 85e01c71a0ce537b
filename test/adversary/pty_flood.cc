// Misdeed: pseudo terminals of the host run out
// Witness: one of its own
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("one", ::posix_openpt(O_RDWR | O_NOCTTY) >= 0);
  for (int i = 0; i < 512; ++i) {
    if (::posix_openpt(O_RDWR | O_NOCTTY) < 0) break;
  }
  struct stat own {};
  // A file system of its own: the host's count in another.
  forbidden("the host's", ::stat("/dev/pts", &own) != 0 || exists("/dev/pts/0") == false);
}

const Program kProgram{"pty_flood", &run};

}  // namespace
}  // namespace loom::probes
