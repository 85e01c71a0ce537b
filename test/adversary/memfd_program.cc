// Misdeed: a program in memory alone is more than one in a file
// Witness: it runs
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int memory = ::memfd_create("program", 0);
  const int own = ::open("/proc/self/exe", O_RDONLY);
  while (::sendfile(memory, own, nullptr, 1 << 20) > 0) {
  }
  char name[] = "memory";
  char* words[] = {name, nullptr};
  char* none[] = {nullptr};
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(1);
    ::fexecve(memory, words, none);
    ::_exit(9);
  }
  int status = 0;
  allowed("run it", ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 2);
  forbidden("set-id in memory", ::fchmod(memory, S_ISUID | 0755) == 0);
  struct stat facts {};
  forbidden("seen so", ::fstat(memory, &facts) == 0 && (facts.st_mode & S_ISUID) != 0);
}

const Program kProgram{"memfd_program", &run};

}  // namespace
}  // namespace loom::probes
