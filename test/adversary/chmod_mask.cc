// Misdeed: the mode of a mask is changed to open it
// Witness: of another it can be
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("another mode", ::chmod("beside", 0600) == 0 && ::chmod("beside", 0644) == 0);
  for (const char* path : {"secret", "secrets", "a/b/secret"}) {
    forbidden(path, ::chmod(path, 0777) == 0);
    forbidden("its owner", ::chown(path, ::getuid(), ::getgid()) == 0);
    forbidden("an attribute", ::setxattr(path, "user.x", "x", 1, 0) == 0);
  }
}

const Program kProgram{"chmod_mask", &run};

}  // namespace
}  // namespace loom::probes
