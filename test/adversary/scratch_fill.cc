// Misdeed: the scratch takes more than it was given
// Witness: a mebibyte
// Run: limit.fsize_bytes=0
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const auto takes = [](const char* path, off_t bytes) {
    const int fd = ::open(path, O_CREAT | O_RDWR, 0600);
    const bool took = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) == 0;
    ::close(fd);
    ::unlink(path);
    return took;
  };
  allowed("a mebibyte", takes("/tmp/some", 1 << 20));
  forbidden("the scratch", takes("/tmp/all", 8L << 30U));
  forbidden("the shared memory", takes("/dev/shm/all", 8L << 30U));
}

const Program kProgram{"scratch_fill", &run};

}  // namespace
}  // namespace loom::probes
