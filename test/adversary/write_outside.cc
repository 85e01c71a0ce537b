// Misdeed: a file is made or changed in a directory of the host that no policy names
// Witness: the same in the workspace
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("write in the workspace", writes("made", "made"));
  char path[4096];
  for (const char* name : {"made", "canary"}) {
    for (const char* way : {"", "/proc/self/root", "/proc/self/cwd/../../../../../../../.."}) {
      std::snprintf(path, sizeof path, "%s%s/%s", way, arguments[0], name);
      forbidden(path, writes(path, "made"));
    }
  }
}

const Program kProgram{"write_outside", &run};

}  // namespace
}  // namespace loom::probes
