// Misdeed: session, group, terminal or groups of the starter stay
// Witness: its own are there
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("a session", ::getsid(0) > 0 && ::getpgrp() > 0);
  forbidden("the starter's session", ::getsid(0) != ::getpid() || ::getpgrp() != ::getpid());
  forbidden("a terminal", opens("/dev/tty", O_RDONLY));
  gid_t groups[256];
  const int count = ::getgroups(256, groups);
  for (int i = 0; i < count; ++i) forbidden_number("group", groups[i], groups[i] == 0);
  char here[4096];
  forbidden("the starter's directory", ::getcwd(here, sizeof here) == nullptr || here[0] != '/');
}

const Program kProgram{"leak_session", &run};

}  // namespace
}  // namespace loom::probes
