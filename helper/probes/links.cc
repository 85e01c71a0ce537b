// Misdeed: plants links where a later execution's policy has its roots, and goes through them.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void plant(char** arguments) {
  char canary[4096];
  std::snprintf(canary, sizeof canary, "%s/canary", arguments[0]);
  allowed("replace a root by a link", ::rmdir("inner") == 0 && ::symlink(arguments[0], "inner") == 0);
  allowed("a link to a file", ::symlink(canary, "file") == 0);
  allowed("a link that climbs", ::symlink("../../../../../../../..", "climbs") == 0);
  forbidden("read through it", reads("inner/canary") || reads("file"));
  forbidden("write through it", creates("inner/made") || opens("file", O_WRONLY));
}

void go_through(char** arguments) {
  char path[4096];
  std::snprintf(path, sizeof path, "climbs/%s/canary", arguments[0]);
  allowed("write in the workspace", writes("went", "went"));
  forbidden("read through a planted link", reads("inner/canary") || reads("file") || reads(path));
  forbidden("write through a planted link", creates("inner/made"));
}

const Program kPlant{"plant-links", &plant};
const Program kGo{"go-through-links", &go_through};

}  // namespace
}  // namespace loom::probes
