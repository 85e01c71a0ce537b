// Misdeed: mode, times or attributes of a frozen file are changed
// Witness: of another they can be
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("of another", ::utimensat(AT_FDCWD, "beside", nullptr, 0) == 0 && ::chmod("beside", 0644) == 0);
  forbidden("mode", ::chmod("hooks/run", 0755) == 0 || ::chmod("hooks", 0777) == 0);
  forbidden("times", ::utimensat(AT_FDCWD, "hooks/run", nullptr, 0) == 0);
  forbidden("attribute", ::setxattr("hooks/run", "user.x", "x", 1, 0) == 0);
  forbidden("owner", ::chown("hooks/run", ::getuid(), ::getgid()) == 0);
  forbidden("space", ::fallocate(::open("hooks/run", O_WRONLY), 0, 0, 4096) == 0);
}

const Program kProgram{"frozen_attributes", &run};

}  // namespace
}  // namespace loom::probes
