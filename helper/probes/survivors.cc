// Misdeed: leaves processes where they might be overlooked. And the ladder's first step: whoever listens is heard.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

// Each holds the lock "alive" for as long as it lives, and says one byte when it is where it wants to be.
bool leave(int said[2], void (*hide)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    hide();
    if (::write(said[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  return child > 0 && ::read(said[0], &byte, 1) == 1;
}

void deaf() {
  for (int signal = 1; signal < 65; ++signal) ::signal(signal, SIG_IGN);
}

void second_child() {
  if (::fork() != 0) ::_exit(0);
  ::setsid();
}

void run(char** /*arguments*/) {
  const int alive = ::open("alive", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  allowed("take the lock", alive >= 0 && ::flock(alive, LOCK_SH) == 0);
  int said[2];
  if (::pipe(said) != 0) return;
  allowed("an orphan", leave(said, &second_child));
  allowed("one in a session of its own", leave(said, [] { ::setsid(); }));
  allowed("one that ignores every signal", leave(said, &deaf));
  const pid_t stopped = ::fork();
  if (stopped == 0) {
    for (;;) ::raise(SIGSTOP);
  }
  int status = 0;
  allowed("one that is stopped", ::waitpid(stopped, &status, WUNTRACED) == stopped && WIFSTOPPED(status));
}

void hear(int /*signal*/) {
  allowed("the handler ran", writes("asked", "asked"));
  end_here(3);
}

// Told "ready", whoever started it cancels. A stopped one in another session must hear it too.
void listen(char** /*arguments*/) {
  const pid_t other = ::fork();
  if (other == 0) {
    ::setsid();
    ::signal(SIGTERM, [](int) { ::_exit(writes("asked-too", "asked") ? 0 : 1); });
    for (;;) ::raise(SIGSTOP);
  }
  int status = 0;
  allowed("one that is stopped", ::waitpid(other, &status, WUNTRACED) == other);
  ::signal(SIGTERM, &hear);
  allowed("ready", true);
  for (;;) ::pause();
}

const Program kSurvivors{"survivors", &run};
const Program kListener{"listener", &listen};

}  // namespace
}  // namespace loom::probes
