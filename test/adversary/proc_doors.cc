// Misdeed: the links of /proc lead to another root
// Witness: its own root is there
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("its own root", exists("/proc/self/root/usr"));
  char path[4200];
  for (int pid = 1; pid < 64; ++pid) {
    for (const char* door : {"root", "cwd", "fd/0", "fd/3", "fd/4", "task/1/root", "map_files"}) {
      std::snprintf(path, sizeof path, "/proc/%d/%s%s/canary", pid, door, arguments[0]);
      if (exists(path)) forbidden(path, true);
    }
  }
  forbidden("the root of init", opens("/proc/1/root", O_RDONLY));
}

const Program kProgram{"proc_doors", &run};

}  // namespace
}  // namespace loom::probes
