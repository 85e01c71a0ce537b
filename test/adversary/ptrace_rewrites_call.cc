// Misdeed: a tracer turns a call that is allowed into one that is not, after the filter
// Witness: it turns one into another that is allowed
// Run: arch=x86_64
#if defined(__x86_64__)
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

// What a child gets for getppid(2, 1, 0) when its tracer puts another number in.
long becomes(long number) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::syscall(SYS_getppid, 2, 1, 0);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  long answer = -4096;
  for (int stop = 0; stop < 2; ++stop) {
    do {
      ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
      ::waitpid(child, nullptr, 0);
      answer = ::ptrace(PTRACE_PEEKUSER, child, sizeof(long) * ORIG_RAX, nullptr);
    } while (stop == 0 && answer != SYS_getppid);
    if (stop == 0) ::ptrace(PTRACE_POKEUSER, child, sizeof(long) * ORIG_RAX, number);
  }
  answer = ::ptrace(PTRACE_PEEKUSER, child, sizeof(long) * RAX, nullptr);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return answer;
}

void run(char** /*arguments*/) {
  allowed("getppid becomes getpid", becomes(SYS_getpid) > 1);
  forbidden("it becomes keyctl", becomes(SYS_keyctl) != -1);
  forbidden("it becomes mount", becomes(SYS_mount) != -1);
  forbidden("it becomes socket", becomes(SYS_socket) != -97 && becomes(SYS_socket) != -1);
}

const Program kProgram{"ptrace_rewrites_call", &run};

}  // namespace
}  // namespace loom::probes

#endif
