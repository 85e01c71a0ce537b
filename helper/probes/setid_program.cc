// Misdeed: starts a set-id program to become who owns it.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

// The ids of a child that executed `path` and has ended: they stay what they were.
bool gains(const char* path, const char* word) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(0);
    ::close(1);
    ::close(2);
    ::execl(path, path, word, "0", nullptr);
    ::_exit(126);
  }
  siginfo_t end{};
  if (::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT) != 0) return false;
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/status", child);
  unsigned ids[4] = {0, 0, 0, 0};
  char line[256];
  std::FILE* status = std::fopen(name, "re");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4) break;
  }
  if (status != nullptr) std::fclose(status);
  ::waitpid(child, nullptr, 0);
  bool gained = status == nullptr;
  for (const unsigned id : ids) gained = gained || id != ::getuid();
  return gained;
}

// The second argument is one that is in the workspace, or "".
void run(char** arguments) {
  allowed("start a program", !gains("/proc/self/exe", "list"));
  const char* others[] = {arguments[1],    "/usr/bin/su",     "/usr/bin/sudo",    "/usr/bin/passwd", "/usr/bin/mount",
                          "/usr/bin/chsh", "/usr/bin/newgrp", "/usr/bin/gpasswd", "/usr/bin/pkexec"};
  for (const char* path : others) {
    struct stat facts {};
    if (::stat(path, &facts) == 0 && (facts.st_mode & S_ISUID) != 0) forbidden(path, gains(path, "--help"));
  }
}

const Program kProgram{"setid-program", &run};

}  // namespace
}  // namespace loom::probes
