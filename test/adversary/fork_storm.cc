// Misdeed: processes that fork and leave outrun the end
// Witness: one can be started
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int alive = ::open("alive", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  ::flock(alive, LOCK_SH);
  int started = 0;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = ::fork();
    if (child > 0) ++started;
    if (child != 0) continue;
    ::signal(SIGTERM, SIG_IGN);
    for (;;) {
      if (::fork() > 0) ::_exit(0);
      ::setsid();
    }
  }
  allowed("some", started == 16);
}

const Program kProgram{"fork_storm", &run};

}  // namespace
}  // namespace loom::probes
