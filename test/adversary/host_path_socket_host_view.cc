// Misdeed: a socket of the host is reached by its path, where the whole host is shown but its place is protected
// Witness: one of its own is
// Run: view=host native
#include <cstdio>

#include "helper/probes/deeds.h"
#include "test/adversary/local_names.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("its own", reaches_itself(named("own-socket", false)));
  char path[4096];
  std::snprintf(path, sizeof path, "%s/socket", arguments[0]);
  forbidden("the host's", connects(named(path, false)));
}

const Program kProgram{"host_path_socket_host_view", &run};

}  // namespace
}  // namespace loom::probes
