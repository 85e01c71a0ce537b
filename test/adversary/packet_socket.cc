// Misdeed: a socket to the wire
// Witness: a local pair can be had
// Run: network=full
#include <sys/socket.h>

#include "helper/probes/deeds.h"
#include "test/adversary/closed_family.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  ask_for_family(AF_PACKET, {0, 3});
}

const Program kProgram{"packet_socket", &run};

}  // namespace
}  // namespace loom::probes
