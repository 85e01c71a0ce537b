// Misdeed: the filter is taken off, or undermined by one that allows
// Witness: one of its own can be added
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

// A filter that answers `what` to getppid and keyctl, and lets all else through.
int listen_or_load(unsigned what, unsigned flags) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, what),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

void run(char** /*arguments*/) {
  allowed("add one", listen_or_load(SECCOMP_RET_ALLOW, 0) == 0);
  forbidden("still refused", ::syscall(SYS_keyctl, 0, -3, 0) >= 0);
  forbidden("mode 0", ::prctl(PR_SET_SECCOMP, 0, 0, 0, 0) == 0);
  forbidden("seen as none", ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0);
}

const Program kProgram{"seccomp_undo", &run};

}  // namespace
}  // namespace loom::probes
