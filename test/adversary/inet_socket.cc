// Misdeed: a socket of the internet, where the network is off
// Witness: a local pair can be had
#include <sys/socket.h>

#include "helper/probes/deeds.h"
#include "test/adversary/closed_family.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  ask_for_family(AF_INET, {0});
}

const Program kProgram{"inet_socket", &run};

}  // namespace
}  // namespace loom::probes
