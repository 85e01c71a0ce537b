// Misdeed: a directory given as stdin is the host's tree
// Witness: stdin is there
// Run: stdin=/
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  struct stat facts {};
  allowed("stdin", ::fstat(0, &facts) == 0);
  forbidden("a directory", S_ISDIR(facts.st_mode));
  char path[4096];
  std::snprintf(path, sizeof path, ".%s/canary", arguments[0]);
  forbidden("the host's tree", ::faccessat(0, path, F_OK, 0) == 0);
  forbidden("go there", ::fchdir(0) == 0);
}

const Program kProgram{"leak_stdin", &run};

}  // namespace
}  // namespace loom::probes
