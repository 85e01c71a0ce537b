// Misdeed: a mask or the root is unmounted
// Witness: they can be seen
#include <sys/mount.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("see it", exists("secret"));
  for (const char* path : {"secret", "secrets", "a/b/secret", "hooks", "/proc/sys", "/tmp", "/", "."}) {
    forbidden(path, ::umount2(path, MNT_DETACH) == 0 || ::umount2(path, 0) == 0 || ::umount2(path, MNT_EXPIRE) == 0);
  }
}

const Program kProgram{"unmount", &run};

}  // namespace
}  // namespace loom::probes
