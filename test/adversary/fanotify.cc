// Misdeed: every file that is opened on the machine is watched
// Witness: a directory of its own is
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int own = ::inotify_init1(0);
  allowed("its own", own >= 0 && ::inotify_add_watch(own, ".", IN_CREATE) >= 0);
  for (const unsigned flags : {0x0U, 0x200U, 0x600U, 0x4U})
    forbidden_number("fanotify_init", flags, ::syscall(SYS_fanotify_init, flags, 0) >= 0);
  forbidden("mark", ::syscall(SYS_fanotify_mark, -1, 0x11, 1, -100, "/") >= 0);
}

const Program kProgram{"fanotify", &run};

}  // namespace
}  // namespace loom::probes
