// Misdeed: ".." climbs out of the root
// Witness: ".." of the workspace can be opened
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  int at = ::open(".", O_PATH | O_DIRECTORY);
  for (int i = 0; i < 64; ++i) {
    const int up = ::openat(at, "..", O_PATH | O_DIRECTORY);
    if (up < 0) break;
    ::close(at);
    at = up;
  }
  struct stat top {};
  struct stat root {};
  allowed("climb to the top", ::fstat(at, &top) == 0 && ::stat("/", &root) == 0);
  forbidden("climb past the root", top.st_ino != root.st_ino || top.st_dev != root.st_dev);
  char path[4096];
  std::snprintf(path, sizeof path, ".%s/canary", arguments[0]);
  forbidden("reach the host's tree from there", ::faccessat(at, path, F_OK, 0) == 0);
}

const Program kProgram{"climb", &run};

}  // namespace
}  // namespace loom::probes
