// The main of stage 2, and the one clone that needs a stack of its own.
#include <linux/sched.h>
#include <signal.h>

#include "helper/stage2/entry.h"
#include "helper/stage2/run.h"
#include "helper/stage2/sys.h"

extern "C" [[noreturn]] void loom_main(const long* stack) {
  (void)stack;
  loom::stage2::leave(loom::stage2::run());
}

namespace loom::stage2 {

long spawn(void* stack_top, void (*fn)(void*), void* argument, Meanwhile meanwhile) {
  const long flags = CLONE_VM | SIGCHLD | (meanwhile == Meanwhile::kStandStill ? CLONE_VFORK : 0);
  long result = 0;
#if defined(__x86_64__)
  // The child finds fn and its argument in registers that the system call leaves alone.
  register void (*r12)(void*) asm("r12") = fn;
  register void* r13 asm("r13") = argument;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = 0;
  asm volatile(
      "syscall\n"
      "  testq %%rax, %%rax\n"
      "  jnz 1f\n"
      "  xorl %%ebp, %%ebp\n"
      "  movq %%r13, %%rdi\n"
      "  call *%%r12\n"
      "  hlt\n"
      "1:\n"
      : "=a"(result)
      : "a"(__NR_clone), "D"(flags), "S"(stack_top), "d"(0L), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
      : "rcx", "r11", "memory", "cc");
#elif defined(__aarch64__)
  register long x8 asm("x8") = __NR_clone;
  register long x0 asm("x0") = flags;
  register void* x1 asm("x1") = stack_top;
  register long x2 asm("x2") = 0;
  register long x3 asm("x3") = 0;
  register long x4 asm("x4") = 0;
  register void (*x19)(void*) asm("x19") = fn;
  register void* x20 asm("x20") = argument;
  asm volatile(
      "svc 0\n"
      "  cbnz x0, 1f\n"
      "  mov x29, #0\n"
      "  mov x0, x20\n"
      "  blr x19\n"
      "  brk #1\n"
      "1:\n"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19), "r"(x20)
      : "memory", "cc");
  result = x0;
#endif
  return result;
}

}  // namespace loom::stage2
