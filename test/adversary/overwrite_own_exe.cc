// Misdeed: the program that runs is overwritten through /proc/self/exe
// Witness: it can be read
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("read it", reads("/proc/self/exe"));
  forbidden("write it", opens("/proc/self/exe", O_WRONLY) || opens("/proc/self/exe", O_RDWR));
  const int fd = ::open("/proc/self/exe", O_PATH);
  char name[64];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  forbidden("by a descriptor", opens(name, O_WRONLY));
  forbidden("cut it", ::truncate("/proc/self/exe", 0) == 0);
}

const Program kProgram{"overwrite_own_exe", &run};

}  // namespace
}  // namespace loom::probes
