// Misdeed: a socket to the ciphers of the kernel
// Witness: a local pair can be had
// Run: network=full
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
      forbidden_number("socket", type, ::socket(AF_ALG, type, protocol) >= 0);
      forbidden_number("with flags", type, ::socket(AF_ALG, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol) >= 0);
      forbidden_number("with high bits", type, ::syscall(SYS_socket, (1UL << 40U) | AF_ALG, type, protocol) >= 0);
      forbidden_number("pair", type, ::socketpair(AF_ALG, type, protocol, pair) == 0);
    }
  }
}

const Program kProgram{"alg_socket", &run};

}  // namespace
}  // namespace loom::probes
