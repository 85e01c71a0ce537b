// Misdeed: a link planted in place of an explicit mount leads a later execution out of the workspace
// Witness: the link can be planted
// Then: mount=inner
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  if (*arguments[4] == '1') {
    allowed("plant the link", ::rmdir("inner") == 0 && ::symlink(arguments[0], "inner") == 0);
  }
  allowed("write in the workspace", writes("made", "made"));
  forbidden("read through it", reads("inner/canary"));
  forbidden("write through it", creates("inner/made") || opens("inner/canary", O_WRONLY));
}

const Program kProgram{"link_as_mount", &run};

}  // namespace
}  // namespace loom::probes
