// Misdeed: looks for what its starter left it: variables, descriptors, signals, a terminal.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

bool holds(const char* path, const char* text) {
  char bytes[65536];
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, bytes, sizeof bytes);
  ::close(fd);
  return got > 0 && ::memmem(bytes, static_cast<size_t>(got), text, std::strlen(text)) != nullptr;
}

// The second argument is a name that must not be here, with a value that must not; the third a name that must.
void run(char** arguments) {
  const char* value = std::strchr(arguments[1], '=') + 1;
  char name[128] = {};
  std::memcpy(name, arguments[1], static_cast<size_t>(value - arguments[1]) - 1);
  allowed("the name that was let in", std::getenv(arguments[2]) != nullptr);
  forbidden("a variable of the starter", std::getenv(name) != nullptr);
  // Its own words name the value; what its environment holds is in these.
  forbidden("the same in /proc", holds("/proc/self/environ", value) || holds("/proc/1/environ", value));
  for (int fd = 3; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) forbidden_number("descriptor", fd, true);
  }
  for (int fd = 0; fd < 3; ++fd) {
    struct stat facts {};
    forbidden_number("a directory as stream", fd, ::fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode));
  }
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGINT, SIGPIPE, SIGCHLD, SIGHUP}) {
    struct sigaction act {};
    ::sigaction(signal, nullptr, &act);
    forbidden_number("blocked signal", signal, ::sigismember(&mask, signal) == 1);
    forbidden_number("ignored signal", signal, act.sa_handler == SIG_IGN);
  }
  forbidden("the starter's terminal", opens("/dev/tty", O_RDWR));
  forbidden("the starter's umask", ::umask(022) != 022);
  rlimit core{1, 1};
  ::getrlimit(RLIMIT_CORE, &core);
  forbidden("a core file", core.rlim_max != 0);
}

const Program kProgram{"environment", &run};

}  // namespace
}  // namespace loom::probes
