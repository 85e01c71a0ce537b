// Misdeed: a file system is mounted
// Witness: the scratch can be written
#include <sys/mount.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("the scratch", writes("/tmp/x", "x"));
  for (const char* type : {"tmpfs", "proc", "sysfs", "overlay", "ext4", "fuse", "devtmpfs", "cgroup2", "bpf"}) {
    forbidden(type, ::mount(type, "/tmp", type, 0, nullptr) == 0);
  }
}

const Program kProgram{"mount_filesystem", &run};

}  // namespace
}  // namespace loom::probes
