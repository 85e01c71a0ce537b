// Misdeed: an abstract socket of the host is reached
// Witness: one of its own is

#include "helper/probes/deeds.h"
#include "test/adversary/local_names.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("its own", reaches_itself(named("loom-adversary-own", true)));
  forbidden("the host's", connects(named(arguments[1], true)));
  forbidden("the display's", connects(named("/tmp/.X11-unix/X0", true)));
}

const Program kProgram{"host_abstract_socket", &run};

}  // namespace
}  // namespace loom::probes
