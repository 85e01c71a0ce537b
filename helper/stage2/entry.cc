#include "helper/stage2/entry.h"

#include <cstddef>

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

#if defined(__x86_64__)
asm(".globl _start\n_start:\n  xorl %ebp, %ebp\n  movq %rsp, %rdi\n  andq $-16, %rsp\n  call loom_main\n  hlt\n");
#elif defined(__aarch64__)
asm(".globl _start\n_start:\n  mov x29, #0\n  mov x30, #0\n  mov x0, sp\n  bl loom_main\n  brk #1\n");
#endif

}  // extern "C"

namespace loom::stage2 {

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
