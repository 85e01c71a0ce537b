// Misdeed: looks for processes of the host.
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const pid_t self = ::getpid();
  allowed("see itself", exists("/proc/self/status"));
  DIR* proc = ::opendir("/proc");
  for (const dirent* entry = proc != nullptr ? ::readdir(proc) : nullptr; entry != nullptr; entry = ::readdir(proc)) {
    const long pid = std::atol(entry->d_name);
    // Its own and init; a hostile program that does all at once has its parent, too.
    if (pid > 1) forbidden_number("a process in /proc:", pid, pid != self && pid != ::getppid());
  }
  if (proc != nullptr) ::closedir(proc);
  for (int pid = 2; pid < 4096; ++pid) {
    const bool there = ::kill(pid, 0) == 0 || errno == EPERM;
    if (there && pid != self && pid != ::getppid()) forbidden_number("a process that can be told:", pid, true);
  }
  forbidden("a number as on the host", self > 4096);
}

const Program kProgram{"processes", &run};

}  // namespace
}  // namespace loom::probes
