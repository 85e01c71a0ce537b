// Misdeed: makes a socket of every family, also by socketpair, and sets up io_uring, which makes them past any socket
// filter. Prints each family that worked.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>

int main() {
  for (int family = 0; family < 64; ++family) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
      int pair[2];
      if (::socket(family, type, 0) < 0 && ::socketpair(family, type, 0, pair) != 0) continue;
      std::printf("family %d\n", family);
      break;
    }
  }
  // The family is compared as the kernel takes it: the low half of the register.
  if (::syscall(SYS_socket, (1UL << 32U) | AF_INET, SOCK_STREAM, 0) >= 0) std::puts("high bits");
  char parameters[256] = {};
  if (::syscall(SYS_io_uring_setup, 4, parameters) >= 0) std::puts("io_uring");
  return 0;
}
