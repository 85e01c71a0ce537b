// Misdeed: more processes than allowed
// Witness: some can be started
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int alive = ::open("alive", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  ::flock(alive, LOCK_SH);
  int started = 0;
  for (int i = 0; i < 400; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    if (child > 0) ++started;
  }
  allowed("some", started > 16);
  forbidden_number("processes", started, started > 64);
}

const Program kProgram{"fork_bomb", &run};

}  // namespace
}  // namespace loom::probes
