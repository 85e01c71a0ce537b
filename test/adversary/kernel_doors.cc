// Misdeed: files of /proc that show or turn the kernel are open
// Witness: its own status is
#include <fcntl.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its status", reads("/proc/self/status"));
  for (const char* path :
       {"/proc/kcore", "/proc/kmsg", "/proc/kpagecount", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/timer_list"}) {
    forbidden(path, opens(path, O_RDONLY));
  }
  for (const char* path : {"/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/sys/fs/binfmt_misc/register",
                           "/proc/mtrr", "/proc/bus/pci", "/proc/acpi", "/proc/scsi/scsi", "/proc/latency_stats"}) {
    forbidden(path, opens(path, O_WRONLY));
  }
}

const Program kProgram{"kernel_doors", &run};

}  // namespace
}  // namespace loom::probes
