// Misdeed: a socket to the kernel, where the network is off
// Witness: a local pair can be had
#include <sys/socket.h>

#include "helper/probes/deeds.h"
#include "test/adversary/closed_family.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  ask_for_family(AF_NETLINK, {0, 4, 9, 15});
}

const Program kProgram{"netlink_socket", &run};

}  // namespace
}  // namespace loom::probes
