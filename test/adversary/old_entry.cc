// Misdeed: int 0x80 reaches the calls of another architecture
// Witness: syscall reaches its own
// Run: arch=x86_64
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

long entry_number = 0;

// getpid, open, clone, socket, keyctl, mount, chmod: as a 32-bit program calls them.
bool answers() {
  long answer = entry_number;
  asm volatile("int $0x80" : "+a"(answer) : "b"(0L), "c"(0L), "d"(0L) : "memory", "r8", "r9", "r10", "r11");
  return answer != -38;
}

void run(char** /*arguments*/) {
  allowed("its own", ::syscall(SYS_getpid) == ::getpid());
  for (const long number : {20L, 5L, 120L, 359L, 288L, 21L, 15L}) {
    entry_number = number;
    forbidden_number("int 0x80", number, in_child(&answers));
  }
}

const Program kProgram{"old_entry", &run};

}  // namespace
}  // namespace loom::probes

#endif
