// Misdeed: packets of another sender are made, where the network is open
// Witness: a datagram socket
// Run: network=full
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("datagrams", ::socket(AF_INET, SOCK_DGRAM, 0) >= 0);
  for (const int protocol : {IPPROTO_RAW, IPPROTO_ICMP, IPPROTO_TCP}) {
    forbidden_number("raw", protocol, ::socket(AF_INET, SOCK_RAW, protocol) >= 0);
    forbidden_number("raw 6", protocol, ::socket(AF_INET6, SOCK_RAW, protocol) >= 0);
  }
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int on = 1;
  forbidden("any address", ::setsockopt(fd, IPPROTO_IP, 19, &on, sizeof on) == 0);  // IP_TRANSPARENT
  forbidden("any device's", ::setsockopt(fd, SOL_SOCKET, SO_MARK, &on, sizeof on) == 0);
}

const Program kProgram{"raw_socket", &run};

}  // namespace
}  // namespace loom::probes
