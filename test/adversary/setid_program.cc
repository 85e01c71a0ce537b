// Misdeed: a set-id program of the host gives the rights of its owner
// Witness: a program runs
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

// The ids of a child that executed it and has ended: they stay what they were.
bool gains(const char* path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(1);
    ::close(2);
    ::execl(path, path, "--help", nullptr);
    ::_exit(126);
  }
  siginfo_t end{};
  ::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT);
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/status", child);
  unsigned ids[4] = {0, 0, 0, 0};
  char line[256];
  std::FILE* status = std::fopen(name, "re");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4) break;
  }
  ::waitpid(child, nullptr, 0);
  bool gained = false;
  for (const unsigned id : ids) gained = gained || id != ::getuid();
  return gained;
}

void run(char** /*arguments*/) {
  allowed("run a program", !gains("/proc/self/exe"));
  for (const char* path : {"/usr/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/umount",
                           "/usr/bin/chsh", "/usr/bin/newgrp", "/usr/bin/gpasswd", "/usr/bin/pkexec"}) {
    struct stat facts {};
    if (::stat(path, &facts) == 0) forbidden(path, gains(path));
  }
  forbidden("new privileges", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
}

const Program kProgram{"setid_program", &run};

}  // namespace
}  // namespace loom::probes
