// Misdeed: a protected file is read by any of the calls that read
// Witness: another can be
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("read another", reads("beside"));
  for (const char* path : {"secret", "a/b/secret", "secrets/key"}) {
    forbidden("open", opens(path, O_RDONLY));
    forbidden("execute", ::syscall(SYS_execveat, AT_FDCWD, path, nullptr, nullptr, 0) == 0);
    struct stat facts {};
    forbidden("its size", ::stat(path, &facts) == 0 && facts.st_size != 0);
    char value[64];
    forbidden("copy", ::syscall(SYS_copy_file_range, ::open(path, O_RDONLY), nullptr, 1, nullptr, sizeof value, 0) > 0);
  }
  forbidden("list the directory", opens("secrets/key", O_PATH));
}

const Program kProgram{"read_protected", &run};

}  // namespace
}  // namespace loom::probes
