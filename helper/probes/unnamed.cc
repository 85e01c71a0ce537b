// Misdeed: looks for what is on the host and in no policy.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("see the programs", exists("/usr/bin"));
  char path[4096];
  for (const char* way :
       {"", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/../../../../../..", "/dev/fd/../../.."}) {
    std::snprintf(path, sizeof path, "%s%s/canary", way, arguments[0]);
    forbidden(way[0] == '\0' ? "a file of the host" : way, exists(path) || reads(path));
  }
  for (const char* name : {"/var/lib", "/var/log", "/boot", "/mnt", "/srv", "/sys/kernel", "/run/lock", "/root/.ssh"}) {
    forbidden(name, exists(name));
  }
  forbidden("leave the root", ::chroot(".") == 0);
}

const Program kProgram{"unnamed", &run, true};

}  // namespace
}  // namespace loom::probes
