// Misdeed: a file grows past its ceiling
// Witness: below it can
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  ::signal(SIGXFSZ, SIG_IGN);
  const int fd = ::open("big", O_CREAT | O_RDWR, 0644);
  allowed("a mebibyte", ::ftruncate(fd, 1 << 20) == 0);
  forbidden("nine", ::ftruncate(fd, 9 << 20) == 0);
  forbidden("by allocating", ::posix_fallocate(fd, 0, 9 << 20) == 0);
  forbidden("by a write behind", ::pwrite(fd, "x", 1, 9 << 20) == 1);
}

const Program kProgram{"file_size", &run};

}  // namespace
}  // namespace loom::probes
