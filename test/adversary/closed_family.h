// A family of sockets that the network mode does not have: every type, and every way to ask.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "helper/probes/deeds.h"

namespace loom::probes {

inline void ask_for_family(int family, std::initializer_list<int> protocols) {
  int pair[2];
  allowed("a local pair", ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
    for (const int protocol : protocols) {
      forbidden_number("socket", type, ::socket(family, type, protocol) >= 0);
      forbidden_number("with flags", type, ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol) >= 0);
      forbidden_number("with high bits", type,
                       ::syscall(SYS_socket, (1UL << 40U) | static_cast<unsigned long>(family), type, protocol) >= 0);
      forbidden_number("pair", type, ::socketpair(family, type, protocol, pair) == 0);
    }
  }
}

}  // namespace loom::probes
