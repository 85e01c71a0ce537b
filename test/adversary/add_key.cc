// Misdeed: a key is left in a keyring that outlives the jail
// Witness: a file can be left
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("a file", writes("left", "left"));
  for (const long ring : {-1L, -2L, -3L, -4L, -5L}) {
    forbidden_number("add_key", ring, ::syscall(SYS_add_key, "user", "loom", "x", 1, ring) >= 0);
    forbidden_number("request_key", ring, ::syscall(SYS_request_key, "user", "loom", nullptr, ring) >= 0);
  }
}

const Program kProgram{"add_key", &run};

}  // namespace
}  // namespace loom::probes
