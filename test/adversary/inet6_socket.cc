// Misdeed: a socket of the newer internet, where the network is off
// Witness: a local pair can be had
#include <sys/socket.h>

#include "helper/probes/deeds.h"
#include "test/adversary/closed_family.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  ask_for_family(AF_INET6, {0});
}

const Program kProgram{"inet6_socket", &run};

}  // namespace
}  // namespace loom::probes
