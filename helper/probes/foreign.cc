// Misdeed: reaches system calls by another entry or another number than those the filter judged.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

#if defined(__x86_64__)
// getpid as a 32-bit program calls it.
bool old_entry_answers() {
  long answer = 20;
  asm volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
  return answer > 0;
}
#endif

// Whether anything but "there is no such call" comes back.
bool answers(long number) {
  errno = 0;
  return ::syscall(number, 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS;
}

void run(char** /*arguments*/) {
  allowed("the usual entry", ::syscall(SYS_getpid) == ::getpid());
#if defined(__x86_64__)
  forbidden("int 0x80", in_child(&old_entry_answers));
  for (const long number : {39L, 0L, 512L, 547L}) {
    forbidden_number("x32", number, answers(0x40000000L | number));
  }
#endif
  for (const long number : {470L, 471L, 500L, 1023L, 0x3fffffffL, 0x7fffffffL, -1L}) {
    forbidden_number("number", number, answers(number));
  }
}

const Program kProgram{"foreign", &run, true};

}  // namespace
}  // namespace loom::probes
