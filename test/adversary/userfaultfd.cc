// Misdeed: a copy of the kernel is stalled by page faults
// Witness: memory can be mapped
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("map memory", ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  for (const int flags : {0, 1, O_NONBLOCK, O_CLOEXEC | 1})
    forbidden_number("userfaultfd", flags, ::syscall(SYS_userfaultfd, flags) >= 0);
  forbidden("its device", opens("/dev/userfaultfd", O_RDWR));
}

const Program kProgram{"userfaultfd", &run};

}  // namespace
}  // namespace loom::probes
