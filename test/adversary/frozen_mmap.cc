// Misdeed: a frozen file is changed through a shared mapping
// Witness: a file of its own can be
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const auto maps = [](const char* path, int flags) {
    const int fd = ::open(path, flags);
    return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
  };
  allowed("its own", writes("mine", "mine") && maps("mine", O_RDWR));
  forbidden("opened for reading", maps("hooks/run", O_RDONLY));
  const int fd = ::open("hooks/run", O_RDONLY);
  void* at = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  allowed("look at it", at != MAP_FAILED);
  forbidden("made writable later", ::mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0);
}

const Program kProgram{"frozen_mmap", &run};

}  // namespace
}  // namespace loom::probes
