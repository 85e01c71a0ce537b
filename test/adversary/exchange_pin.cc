// Misdeed: an ancestor of a protected file changes places with another
// Witness: two others can
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const auto exchange = [](const char* one, const char* other) {
    return ::syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 2U) == 0;
  };
  allowed("exchange two", ::mkdir("one", 0755) == 0 && exchange("one", "inner"));
  for (const char* path : {"a", "a/b", "hooks", "secrets", "secret", "a/b/secret"})
    forbidden(path, exchange("one", path));
}

const Program kProgram{"exchange_pin", &run};

}  // namespace
}  // namespace loom::probes
