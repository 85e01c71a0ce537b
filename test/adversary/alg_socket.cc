// Misdeed: a socket to the ciphers of the kernel
// Witness: a local pair can be had
// Run: network=full
#include <sys/socket.h>

#include "helper/probes/deeds.h"
#include "test/adversary/closed_family.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  ask_for_family(AF_ALG, {0});
}

const Program kProgram{"alg_socket", &run};

}  // namespace
}  // namespace loom::probes
