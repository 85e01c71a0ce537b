// Misdeed: a socket of any other family, where the network is open
// Witness: one of the internet
// Run: network=full
#include <sys/socket.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("the internet", ::socket(AF_INET, SOCK_STREAM, 0) >= 0);
  for (int family = 0; family < 128; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM}) {
      int pair[2];
      if (::socket(family, type, 0) >= 0 || ::socketpair(family, type, 0, pair) == 0)
        forbidden_number("family", family, true);
    }
  }
}

const Program kProgram{"other_families", &run};

}  // namespace
}  // namespace loom::probes
