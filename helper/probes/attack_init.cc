// Misdeed: ends, starves, traces or reads pid 1 of the jail.
#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

bool kills_a_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  int status = 0;
  return child > 0 && ::kill(child, SIGKILL) == 0 && ::waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

bool traces_a_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  int status = 0;
  const bool traced = ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0 &&
                      ::ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr) == 0 && ::waitpid(child, &status, 0) == child;
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return traced;
}

void run(char** /*arguments*/) {
  allowed("end a child", kills_a_child());
  allowed("trace a child", traces_a_child());
  for (const int signal : {SIGKILL, SIGSTOP, SIGSEGV, SIGTERM, SIGRTMIN}) ::kill(1, signal);
  const rlimit starved{0, 0};
  for (const auto limit : {RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_STACK}) {
    forbidden("prlimit", ::prlimit(1, limit, &starved, nullptr) == 0);
  }
  const sched_param none{};
  cpu_set_t processors;
  ::sched_getaffinity(0, sizeof processors, &processors);
  forbidden("its priority", ::setpriority(PRIO_PROCESS, 1, 19) == 0 || ::setpriority(PRIO_PGRP, 1, 19) == 0);
  forbidden("its scheduler", ::sched_setscheduler(1, SCHED_OTHER, &none) == 0);
  forbidden("its processors", ::sched_setaffinity(1, sizeof processors, &processors) == 0);
  forbidden("ptrace", ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) == 0);
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(0x400000), 1};
  forbidden("reading its memory", ::process_vm_readv(1, &here, 1, &there, 1, 0) > 0);
  for (const char* path : {"/proc/1/mem", "/proc/1/fd", "/proc/1/environ", "/proc/1/map_files", "/proc/1/root"}) {
    forbidden(path, opens(path, O_RDONLY));
  }
  for (const char* path : {"/proc/1/mem", "/proc/1/comm", "/proc/1/oom_score_adj", "/proc/1/clear_refs"}) {
    forbidden(path, opens(path, O_WRONLY));
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, 1, 0));
  forbidden("taking its descriptor", pidfd >= 0 && ::syscall(SYS_pidfd_getfd, pidfd, 3, 0) >= 0);
  forbidden("its end", !exists("/proc/1/stat"));
}

const Program kProgram{"attack-init", &run, true};

}  // namespace
}  // namespace loom::probes
