// Misdeed: uses rights of root, or takes them.
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void sets() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  allowed("ask for its capabilities", ::syscall(SYS_capget, &header, data) == 0);
  for (const auto& set : data) {
    forbidden("a capability", (set.effective | set.permitted | set.inheritable) != 0);
  }
  data[0].effective = data[0].permitted = 1U << CAP_CHOWN;
  forbidden("capset", ::syscall(SYS_capset, &header, data) == 0);
  bool bounded = false;
  for (int capability = 0; capability < 64; ++capability) {
    bounded = bounded || ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1;
  }
  forbidden("something in the bounding set", bounded);
  forbidden("an ambient one", ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) == 0);
}

void run(char** /*arguments*/) {
  sets();
  allowed("be who it is", ::setuid(::getuid()) == 0 && writes("own", "own") && ::chmod("own", 0600) == 0);
  forbidden("the id of root", ::getuid() == 0 || ::geteuid() == 0);
  forbidden("setuid", ::setuid(0) == 0 || ::setreuid(0, 0) == 0 || ::setresuid(0, 0, 0) == 0);
  forbidden("setgid", ::setgid(0) == 0);
  forbidden("setgroups", ::setgroups(0, nullptr) == 0);
  forbidden("give a file away", ::chown("own", 0, 0) == 0);
  forbidden("a device", ::mknod("device", S_IFBLK | 0600, makedev(8, 0)) == 0);
  forbidden("the host's name", ::sethostname("x", 1) == 0);
  forbidden("a better priority", ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) - 1) == 0);
  const timeval time{1, 0};
  forbidden("the clock", ::settimeofday(&time, nullptr) == 0);
  forbidden("new privileges", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
  forbidden("undo that", ::prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
}

const Program kProgram{"capabilities", &run, true};

}  // namespace
}  // namespace loom::probes
