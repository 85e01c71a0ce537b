// Misdeed: reads what only root may, and turns what acts on the whole machine.
#include <fcntl.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("read /etc/passwd", reads("/etc/passwd"));
  allowed("read a sysctl", reads("/proc/sys/kernel/ostype"));
  allowed("write /dev/null", writes("/dev/null", "x"));
  for (const char* path : {"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/proc/kcore", "/proc/kmsg", "/dev/kmsg",
                           "/dev/mem", "/dev/port", "/proc/kpageflags", "/proc/1/environ"}) {
    forbidden(path, opens(path, O_RDONLY));
  }
  for (const char* path : {"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
                           "/proc/sys/kernel/sysrq", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger",
                           "/proc/irq/default_smp_affinity", "/proc/sys/fs/binfmt_misc/register", "/proc/mtrr"}) {
    forbidden(path, opens(path, O_WRONLY));
  }
}

const Program kProgram{"root-only", &run, true};

}  // namespace
}  // namespace loom::probes
