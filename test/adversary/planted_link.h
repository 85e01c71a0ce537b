// A link out of the workspace, planted by one execution for the next.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {

inline void follow_planted_link(char** arguments) {
  if (*arguments[4] == '1') {
    allowed("plant the link", ::rmdir("inner") == 0 && ::symlink(arguments[0], "inner") == 0);
  }
  allowed("write in the workspace", writes("made", "made"));
  forbidden("read through it", reads("inner/canary"));
  forbidden("write through it", creates("inner/made") || opens("inner/canary", O_WRONLY));
}

}  // namespace loom::probes
