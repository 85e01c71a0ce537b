// Misdeed: a process of the host is seen
// Witness: its own is
#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("itself", exists("/proc/self/stat"));
  DIR* proc = ::opendir("/proc");
  for (const dirent* e = ::readdir(proc); e != nullptr; e = ::readdir(proc)) {
    const long pid = std::atol(e->d_name);
    if (pid > 1 && pid != ::getpid()) forbidden_number("process", pid, true);
  }
  for (int pid = 2; pid < 8192; ++pid) {
    if (pid != ::getpid() && (::kill(pid, 0) == 0 || errno == EPERM)) forbidden_number("signalled", pid, true);
  }
}

const Program kProgram{"host_processes", &run};

}  // namespace
}  // namespace loom::probes
