// Misdeed: so many files are made in the scratch that the host runs out of memory for them
// Witness: a thousand can be
// Run: native
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  char path[64];
  int made = 0;
  for (int i = 0; i < 1000; ++i) {
    std::snprintf(path, sizeof path, "/tmp/f%d", i);
    if (::mknod(path, S_IFREG | 0600, 0) == 0) ++made;
  }
  allowed("a thousand", made == 1000);
  for (const char* place : {"/tmp", "/dev/shm"}) {
    struct statvfs facts {};
    forbidden("without an end", ::statvfs(place, &facts) != 0 || facts.f_files == 0 || facts.f_files > (1U << 20U));
    forbidden("space without an end", facts.f_blocks == 0 || facts.f_blocks * facts.f_frsize > (4UL << 30U));
  }
}

const Program kProgram{"scratch_inodes", &run};

}  // namespace
}  // namespace loom::probes
