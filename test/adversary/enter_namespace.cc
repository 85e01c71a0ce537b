// Misdeed: a namespace of init or of itself is entered
// Witness: its name can be read
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  char name[64];
  allowed("its own name", ::readlink("/proc/self/ns/mnt", name, sizeof name) > 0);
  for (const char* path : {"/proc/1/ns/mnt", "/proc/1/ns/user", "/proc/1/ns/net", "/proc/self/ns/mnt",
                           "/proc/self/ns/user", "/proc/self/ns/pid_for_children"}) {
    const int fd = ::open(path, O_RDONLY);
    forbidden(path, ::setns(fd, 0) == 0);
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, 1, 0));
  forbidden("by the descriptor of init", ::setns(pidfd, CLONE_NEWNS | CLONE_NEWPID) == 0);
}

const Program kProgram{"enter_namespace", &run};

}  // namespace
}  // namespace loom::probes
