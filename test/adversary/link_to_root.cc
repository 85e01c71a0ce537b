// Misdeed: a planted link to /proc/self/root opens the host to a later execution
// Witness: the link can be planted
// Then: writable=inner
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  if (*arguments[4] == '1')
    allowed("plant the link", ::rmdir("inner") == 0 && ::symlink("/proc/self/root", "inner") == 0);
  allowed("write in the workspace", writes("made", "made"));
  char path[4096];
  std::snprintf(path, sizeof path, "inner%s/canary", arguments[0]);
  forbidden("read the host through it", reads(path) || exists(path) || exists("inner/.ssh") || exists("inner/var/lib"));
}

const Program kProgram{"link_to_root", &run};

}  // namespace
}  // namespace loom::probes
