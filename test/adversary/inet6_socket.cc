// Misdeed: a socket of the newer internet, where the network is off
// Witness: a local pair can be had
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  int pair[2];
  allowed("a local pair", ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
    for (const int protocol : {0}) {
      forbidden_number("socket", type, ::socket(AF_INET6, type, protocol) >= 0);
      forbidden_number("with flags", type, ::socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol) >= 0);
      forbidden_number("with high bits", type, ::syscall(SYS_socket, (1UL << 40U) | AF_INET6, type, protocol) >= 0);
      forbidden_number("pair", type, ::socketpair(AF_INET6, type, protocol, pair) == 0);
    }
  }
}

const Program kProgram{"inet6_socket", &run};

}  // namespace
}  // namespace loom::probes
