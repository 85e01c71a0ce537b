// Misdeed: memory, descriptors or environment of init are read or taken
// Witness: its own can be
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  char byte = 'x';
  const iovec here{&byte, 1};
  allowed("read itself", ::process_vm_readv(::getpid(), &here, 1, &here, 1, 0) == 1 && reads("/proc/self/environ"));
  const iovec there{reinterpret_cast<void*>(0x400000), 1};
  forbidden("read its memory", ::process_vm_readv(1, &here, 1, &there, 1, 0) > 0);
  forbidden("write its memory", ::process_vm_writev(1, &here, 1, &there, 1, 0) > 0);
  for (const char* path : {"/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd", "/proc/1/auxv",
                           "/proc/1/stack", "/proc/1/syscall"}) {
    forbidden(path, reads(path) || opens(path, O_DIRECTORY));
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, 1, 0));
  for (int fd = 0; fd < 8; ++fd)
    forbidden_number("take its descriptor", fd, ::syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0);
}

const Program kProgram{"read_init", &run};

}  // namespace
}  // namespace loom::probes
