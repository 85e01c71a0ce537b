// Misdeed: a protected or frozen file is replaced by a rename
// Witness: another can be
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("replace another", writes("one", "x") && ::rename("one", "two") == 0);
  for (const char* path : {"secret", "hooks/run", "a/b/secret", "secrets/key"}) {
    forbidden(path, writes("mine", "x") && ::rename("mine", path) == 0);
  }
}

const Program kProgram{"rename_over", &run};

}  // namespace
}  // namespace loom::probes
