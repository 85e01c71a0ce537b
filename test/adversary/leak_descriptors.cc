// Misdeed: a descriptor of the starter, on "/", is inherited
// Witness: its own three are there
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its own three", ::fcntl(0, F_GETFD) >= 0 && ::fcntl(1, F_GETFD) >= 0 && ::fcntl(2, F_GETFD) >= 0);
  for (int fd = 3; fd < 4096; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) forbidden_number("descriptor", fd, true);
  }
  forbidden("by /proc", exists("/proc/self/fd/47/usr") || exists("/proc/self/fd/3/usr"));
}

const Program kProgram{"leak_descriptors", &run};

}  // namespace
}  // namespace loom::probes
