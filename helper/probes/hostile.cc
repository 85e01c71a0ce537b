// Misdeed: all of it, one after the other and then all at once.
#include <sys/wait.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

pid_t start(const Program& program, char** arguments) {
  const pid_t child = ::fork();
  if (child == 0) {
    program.run(arguments);
    ::_exit(0);
  }
  return child;
}

void run(char** arguments) {
  allowed("write in the workspace", writes("hostile", "hostile"));
  for (const Program* p = programs(); p != nullptr; p = p->next) {
    if (p->combines) allowed(p->name, ::waitpid(start(*p, arguments), nullptr, 0) > 0);
  }
  int started = 0;
  for (const Program* p = programs(); p != nullptr; p = p->next) {
    if (p->combines && start(*p, arguments) > 0) ++started;
  }
  int ended = 0;
  while (::wait(nullptr) > 0) ++ended;
  allowed("all at once", started > 0 && ended == started);
}

const Program kProgram{"hostile", &run};

}  // namespace
}  // namespace loom::probes
