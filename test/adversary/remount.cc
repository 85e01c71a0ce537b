// Misdeed: a read-only mount becomes writable
// Witness: its flags can be asked for
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  struct statvfs facts {};
  allowed("its flags", ::statvfs("/usr", &facts) == 0 && (facts.f_flag & ST_RDONLY) != 0);
  for (const char* path : {"/", "/usr", "/etc", "hooks", "/proc/sys", "/dev"}) {
    forbidden(path, ::mount("none", path, nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0);
    forbidden("its file system", ::mount("none", path, nullptr, MS_REMOUNT, nullptr) == 0);
  }
}

const Program kProgram{"remount", &run};

}  // namespace
}  // namespace loom::probes
