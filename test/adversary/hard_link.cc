// Misdeed: a second name makes a protected or frozen file reachable
// Witness: a second name for its own
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("a second name", ::link("beside", "second") == 0);
  for (const char* path : {"secret", "secrets/key", "hooks/run", "a/b/secret"}) {
    forbidden(path, ::link(path, "alias") == 0 || ::linkat(AT_FDCWD, path, AT_FDCWD, "alias2", AT_SYMLINK_FOLLOW) == 0);
    const int fd = ::open(path, O_PATH);
    forbidden("by its descriptor", ::linkat(fd, "", AT_FDCWD, "alias3", AT_EMPTY_PATH) == 0);
    char name[64];
    std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    forbidden("by /proc", ::linkat(AT_FDCWD, name, AT_FDCWD, "alias4", AT_SYMLINK_FOLLOW) == 0);
  }
}

const Program kProgram{"hard_link", &run};

}  // namespace
}  // namespace loom::probes
