// Where the kernel enters, what the compiler expects to find, and the one clone that needs a stack of its own.
#include <linux/sched.h>
#include <signal.h>

#include "helper/stage2/run.h"
#include "helper/stage2/sys.h"

extern "C" {

void* memcpy(void* to, const void* from, std::size_t count) {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < count; ++i) t[i] = f[i];
  return to;
}

void* memset(void* to, int value, std::size_t count) {
  auto* t = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < count; ++i) t[i] = static_cast<unsigned char>(value);
  return to;
}

[[noreturn]] void loom_stage2_main() {
  loom::stage2::leave(loom::stage2::run());
}

#if defined(__x86_64__)
asm(".globl _start\n_start:\n  xorl %ebp, %ebp\n  andq $-16, %rsp\n  call loom_stage2_main\n  hlt\n");
#elif defined(__aarch64__)
asm(".globl _start\n_start:\n  mov x29, #0\n  mov x30, #0\n  bl loom_stage2_main\n  brk #1\n");
#endif

}  // extern "C"

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

std::size_t length(const char* text) {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

bool same(const char* a, const char* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

std::size_t copy_text(char* to, std::size_t room, const char* from) {
  std::size_t n = 0;
  for (; n + 1 < room && from[n] != '\0'; ++n) to[n] = from[n];
  to[n] = '\0';
  return n;
}

}  // namespace loom::stage2
