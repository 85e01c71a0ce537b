// Misdeed: ends, starves, traces or reads pid 1 of the jail. Prints each deed that worked.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <initializer_list>

namespace {

void told(const char* name, bool worked) {
  if (worked) std::puts(name);
}

}  // namespace

int main() {
  for (const int signal : {SIGKILL, SIGSTOP, SIGSEGV, SIGTERM, SIGRTMIN}) ::kill(1, signal);
  const rlimit starved{0, 0};
  for (const auto limit : {RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_STACK}) {
    told("prlimit", ::prlimit(1, limit, &starved, nullptr) == 0);
  }
  told("ptrace", ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) == 0);
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(0x400000), 1};
  told("reading its memory", ::process_vm_readv(1, &here, 1, &there, 1, 0) > 0);
  for (const char* path : {"/proc/1/mem", "/proc/1/fd", "/proc/1/environ", "/proc/1/map_files", "/proc/1/root"}) {
    told(path, ::open(path, O_RDONLY) >= 0);
  }
  for (const char* path : {"/proc/1/mem", "/proc/1/comm", "/proc/1/oom_score_adj", "/proc/1/clear_refs"}) {
    told(path, ::open(path, O_WRONLY) >= 0);
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, 1, 0));
  told("taking its descriptor", pidfd >= 0 && ::syscall(SYS_pidfd_getfd, pidfd, 3, 0) >= 0);
  std::puts("still here");
  return 0;
}
