// Misdeed: a frozen file that is open for reading becomes writable through /proc
// Witness: the same of a file of its own
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const auto reopens = [](const char* path) {
    const int fd = ::open(path, O_RDONLY);
    char name[64];
    std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return opens(name, O_RDWR);
  };
  allowed("its own", reopens("beside"));
  forbidden("hooks/run", reopens("hooks/run"));
  forbidden("a program of the system", reopens("/usr/bin/env"));
}

const Program kProgram{"frozen_reopen", &run};

}  // namespace
}  // namespace loom::probes
