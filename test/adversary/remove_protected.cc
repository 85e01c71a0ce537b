// Misdeed: a protected or frozen file is removed
// Witness: another can be
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("remove another", writes("one", "x") && ::unlink("one") == 0);
  for (const char* path : {"secret", "hooks/run", "a/b/secret", "secrets/key"}) forbidden(path, ::unlink(path) == 0);
  for (const char* path : {"hooks", "secrets", "a/b", "a"})
    forbidden(path, ::unlinkat(AT_FDCWD, path, AT_REMOVEDIR) == 0);
}

const Program kProgram{"remove_protected", &run};

}  // namespace
}  // namespace loom::probes
