// Misdeed: a setting of the kernel is changed
// Witness: it can be read
#include <fcntl.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("read one", reads("/proc/sys/kernel/ostype"));
  for (const char* path :
       {"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/randomize_va_space", "/proc/sys/vm/drop_caches", "/proc/sys/vm/overcommit_memory",
        "/proc/sys/fs/suid_dumpable", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces"}) {
    forbidden(path, opens(path, O_WRONLY) || opens(path, O_RDWR));
  }
  forbidden("the next number of a process", writes("/proc/sys/kernel/ns_last_pid", "400"));
}

const Program kProgram{"write_sysctls", &run};

}  // namespace
}  // namespace loom::probes
