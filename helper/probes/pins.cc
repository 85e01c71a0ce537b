// Misdeed: renames an ancestor of a protected file ("a/b/secret") away, to reach or to replace what lies below it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

bool exchange(const char* one, const char* other) {
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE
  return ::syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, kExchange) == 0;
}

void run(char** /*arguments*/) {
  allowed("rename a directory of its own", ::mkdir("plain", 0755) == 0 && ::rename("plain", "renamed") == 0);
  allowed("make a file beside the protected one", writes("a/b/beside", "beside"));
  for (const char* ancestor : {"a", "a/b"}) {
    forbidden("rename it away", ::rename(ancestor, "gone") == 0);
    forbidden("rename over it", ::rename("renamed", ancestor) == 0);
    forbidden("exchange it", exchange("renamed", ancestor));
    forbidden("remove it", ::rmdir(ancestor) == 0);
  }
  forbidden("move the inner one out", ::rename("a/b", "renamed/b") == 0);
  forbidden("read the file", reads("a/b/secret"));
  forbidden("make another in its place", ::rename("a/b/beside", "a/b/secret") == 0);
}

const Program kProgram{"pins", &run, true};

}  // namespace
}  // namespace loom::probes
