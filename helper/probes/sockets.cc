// Misdeed: makes a socket of every family, also by socketpair and through io_uring, which asks no socket filter.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

bool any_of_family(int family) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
    int pair[2] = {-1, -1};
    const int one = ::socket(family, type, 0);
    if (one >= 0) ::close(one);
    const bool two = ::socketpair(family, type, 0, pair) == 0;
    for (const int end : pair) ::close(end);
    if (one >= 0 || two) return true;
  }
  return false;
}

bool local_pair_carries() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
  char byte = 0;
  return ::write(pair[0], "x", 1) == 1 && ::read(pair[1], &byte, 1) == 1 && byte == 'x';
}

bool in(int family, const char* list) {
  char number[8] = {};
  number[0] = ',';
  int at = 1;
  if (family >= 10) number[at++] = static_cast<char>('0' + family / 10);
  number[at++] = static_cast<char>('0' + family % 10);
  number[at] = ',';
  return std::strstr(list, number) != nullptr;
}

// The second argument lists the families that may be had: ",1," or ",1,2,10,16,".
void run(char** arguments) {
  allowed("a pair of local sockets", local_pair_carries());
  const char* list = arguments[1];
  for (int family = 0; family < 64; ++family) {
    if (!in(family, list)) forbidden_number("family", family, any_of_family(family));
  }
  // The family is compared as the kernel takes it: the low half of the register.
  forbidden("a family with high bits",
            !in(AF_INET, list) && ::syscall(SYS_socket, (1UL << 32U) | AF_INET, SOCK_STREAM, 0) >= 0);
  if (in(AF_NETLINK, list)) {
    for (int protocol = 1; protocol < 24; ++protocol) {
      forbidden_number("netlink", protocol, ::socket(AF_NETLINK, SOCK_RAW, protocol) >= 0);
    }
  }
  char parameters[256] = {};
  forbidden("io_uring", ::syscall(SYS_io_uring_setup, 4, parameters) >= 0);
}

const Program kProgram{"sockets", &run, true};

}  // namespace
}  // namespace loom::probes
