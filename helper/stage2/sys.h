// Linux without libc: the system calls stage 2 makes, by number, each returning the kernel's own answer (-errno on
// failure). There is no errno, no thread-local storage and no heap, so a child that shares this memory can use all of
// it.
#pragma once

#include <asm/unistd.h>

#include <cstddef>
#include <cstdint>

namespace loom::stage2 {

#if defined(__x86_64__)
inline long call6(long number, long a, long b, long c, long d, long e, long f) {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline long call6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
  return x0;
}
#else
#error "stage 2 knows x86-64 and arm64"
#endif

template <class T>
inline long word(T value) {
  if constexpr (__is_enum(T)) {
    return static_cast<long>(value);
  } else {
    return (long)value;  // NOLINT(google-readability-casting): pointers and integers alike
  }
}

template <class... Args>
inline long call(long number, Args... args) {
  const long padded[6 + 1] = {word(args)...};
  return call6(number, padded[0], padded[1], padded[2], padded[3], padded[4], padded[5]);
}

// Starts fn(argument) on its own stack in this memory. fn never returns. kStandStill: the caller stands still until the
// child execs or ends.
enum class Meanwhile { kStandStill, kGoOn };
long spawn(void* stack_top, void (*fn)(void*), void* argument, Meanwhile meanwhile);

[[noreturn]] inline void leave(int status) {
  for (;;) call(__NR_exit_group, status);
}

std::size_t length(const char* text);
bool same(const char* a, const char* b, std::size_t count);
// Copies at most room-1 bytes and ends with a NUL; the count without it.
std::size_t copy_text(char* to, std::size_t room, const char* from);

}  // namespace loom::stage2
