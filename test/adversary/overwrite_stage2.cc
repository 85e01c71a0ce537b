// Misdeed: the init of the jail is overwritten or read through /proc/1
// Witness: its own entry can be read
#include <fcntl.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its own", reads("/proc/self/stat"));
  for (const char* path : {"/proc/1/exe", "/proc/1/mem", "/proc/1/map_files", "/proc/1/fd/3"}) {
    forbidden(path, opens(path, O_RDONLY) || opens(path, O_WRONLY));
  }
  char name[256];
  forbidden("where it lies", ::readlink("/proc/1/exe", name, sizeof name) > 0);
}

const Program kProgram{"overwrite_stage2", &run};

}  // namespace
}  // namespace loom::probes
