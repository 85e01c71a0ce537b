// Misdeed: mode or times of a device of the host are changed from inside
// Witness: it can be written to
// Run: native
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("write /dev/null", writes("/dev/null", "x"));
  forbidden("mode", ::chmod("/dev/null", 0777) == 0);
  forbidden("times", ::utimensat(AT_FDCWD, "/dev/null", nullptr, 0) == 0);
  forbidden("remove", ::unlink("/dev/null") == 0);
  forbidden("rename", ::syscall(SYS_renameat2, AT_FDCWD, "/dev/null", AT_FDCWD, "/dev/shm/null", 0) == 0);
}

const Program kProgram{"device_attributes", &run};

}  // namespace
}  // namespace loom::probes
