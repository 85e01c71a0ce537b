// Misdeed: chroot or pivot_root gives another root
// Witness: chdir gives another directory
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("chdir", ::chdir("inner") == 0 && ::chdir("..") == 0);
  forbidden("chroot", ::chroot(".") == 0 || ::chroot("/") == 0);
  forbidden("pivot_root", ::syscall(SYS_pivot_root, ".", ".") == 0);
}

const Program kProgram{"change_root", &run};

}  // namespace
}  // namespace loom::probes
