// Misdeed: more threads than allowed
// Witness: some can be started
// Run: arch=x86_64
#if defined(__x86_64__)
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

int wait_here(void* /*unused*/) {
  for (;;) ::syscall(SYS_pause);
}

void run(char** /*arguments*/) {
  int started = 0;
  for (int i = 0; i < 400; ++i) {
    void* stack = ::mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    if (::clone(&wait_here, static_cast<char*>(stack) + 65536, flags, nullptr) > 0) ++started;
  }
  allowed("some", started > 16);
  forbidden_number("threads", started, started > 64);
}

const Program kProgram{"thread_bomb", &run};

}  // namespace
}  // namespace loom::probes

#endif
