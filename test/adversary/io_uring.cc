// Misdeed: a ring opens files and sockets past the filter
// Witness: a file can be opened
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("open a file", opens("beside", O_RDONLY));
  for (const unsigned flags : {0U, 1U << 1U, 1U << 12U}) {
    unsigned parameters[64] = {0, 0, flags};
    forbidden("io_uring_setup", ::syscall(SYS_io_uring_setup, 8, parameters) >= 0);
  }
  forbidden("enter", ::syscall(SYS_io_uring_enter, 0, 0, 0, 0, nullptr, 0) >= 0);
  forbidden("register", ::syscall(SYS_io_uring_register, -1, 0, nullptr, 0) >= 0);
}

const Program kProgram{"io_uring", &run};

}  // namespace
}  // namespace loom::probes
