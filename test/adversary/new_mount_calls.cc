// Misdeed: the newer mount calls answer
// Witness: statx does
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  struct statx facts {};
  allowed("statx", ::statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &facts) == 0);
  forbidden("open_tree", ::syscall(SYS_open_tree, AT_FDCWD, "/", 1) >= 0);
  forbidden("fsopen", ::syscall(SYS_fsopen, "tmpfs", 0) >= 0);
  forbidden("fspick", ::syscall(SYS_fspick, AT_FDCWD, "/tmp", 0) >= 0);
  forbidden("fsmount", ::syscall(SYS_fsmount, 0, 0, 0) >= 0);
  forbidden("move_mount", ::syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "inner", 0) >= 0);
  const unsigned long attributes[4] = {0, 1, 0, 0};
  forbidden("mount_setattr", ::syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, attributes, sizeof attributes) >= 0);
  forbidden("open_tree_attr", ::syscall(467, AT_FDCWD, "/", 1, attributes, sizeof attributes) >= 0);
}

const Program kProgram{"new_mount_calls", &run};

}  // namespace
}  // namespace loom::probes
