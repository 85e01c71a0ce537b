// Misdeed: the machine is rebooted, swaps, gets another kernel, another module or another clock
// Witness: the clock can be read
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  timespec now{};
  allowed("the clock", ::clock_gettime(CLOCK_REALTIME, &now) == 0);
  // The magic numbers are wrong, for a kernel that would obey.
  forbidden("reboot", ::syscall(SYS_reboot, 0, 0, 0, nullptr) >= 0);
  forbidden("swapon", ::syscall(SYS_swapon, "beside", 0) >= 0);
  forbidden("swapoff", ::syscall(SYS_swapoff, "beside") >= 0);
  forbidden("kexec", ::syscall(SYS_kexec_load, 0, 0, nullptr, 0) >= 0);
  forbidden("module", ::syscall(SYS_finit_module, 0, "", 0) >= 0 || ::syscall(SYS_init_module, nullptr, 0, "") >= 0);
  forbidden("accounting", ::syscall(SYS_acct, "beside") >= 0);
  forbidden("clock", ::syscall(SYS_clock_settime, CLOCK_REALTIME, &now) >= 0);
  forbidden("log", ::syscall(SYS_syslog, 3, nullptr, 0) >= 0);
  forbidden("name", ::sethostname("x", 1) == 0 || ::setdomainname("x", 1) == 0);
}

const Program kProgram{"machine_wide", &run};

}  // namespace
}  // namespace loom::probes
