// Misdeed: a planted link to inner opens the host to a later execution
// Witness: the link can be planted
// Then: protected=inner
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  if (*arguments[4] == '1') allowed("plant the link", ::rmdir("inner") == 0 && ::symlink("inner", "inner") == 0);
  allowed("write in the workspace", writes("made", "made"));
  char path[4096];
  std::snprintf(path, sizeof path, "inner%s/canary", arguments[0]);
  forbidden("read the host through it", reads(path) || exists(path) || exists("inner/.ssh") || exists("inner/var/lib"));
}

const Program kProgram{"link_to_loop", &run};

}  // namespace
}  // namespace loom::probes
