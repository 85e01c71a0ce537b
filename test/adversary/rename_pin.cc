// Misdeed: an ancestor of a protected file is renamed away
// Witness: another directory can be
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("rename a directory", ::rename("inner", "outer") == 0);
  for (const char* path : {"a", "a/b", "hooks", "secrets"}) forbidden(path, ::rename(path, "taken") == 0);
  forbidden("the workspace itself", ::rename(".", "../taken") == 0);
}

const Program kProgram{"rename_pin", &run};

}  // namespace
}  // namespace loom::probes
