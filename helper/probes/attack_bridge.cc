// Misdeed: ends, stops, starves, traces or reads the bridge, which is process 2 of a jail with a way out.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

constexpr pid_t kBridge = 2;

void signal_it() {
  for (const int signal : {SIGKILL, SIGSTOP, SIGSEGV, SIGTERM, SIGRTMIN}) {
    forbidden("kill", ::kill(kBridge, signal) == 0);
    forbidden("killing its group", ::kill(-kBridge, signal) == 0);
    forbidden("tkill", ::syscall(SYS_tkill, kBridge, signal) == 0);
    forbidden("tgkill", ::syscall(SYS_tgkill, kBridge, kBridge, signal) == 0);
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    forbidden("sigqueue", ::syscall(SYS_rt_sigqueueinfo, kBridge, signal, &info) == 0);
    forbidden("tgsigqueue", ::syscall(SYS_rt_tgsigqueueinfo, kBridge, kBridge, signal, &info) == 0);
  }
}

void look_into_it() {
  forbidden("ptrace", ::ptrace(PTRACE_SEIZE, kBridge, nullptr, nullptr) == 0);
  forbidden("ptrace attach", ::ptrace(PTRACE_ATTACH, kBridge, nullptr, nullptr) == 0);
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(0x400000), 1};
  forbidden("reading its memory", ::process_vm_readv(kBridge, &here, 1, &there, 1, 0) > 0);
  for (const char* path : {"/proc/2/mem", "/proc/2/fd", "/proc/2/environ", "/proc/2/map_files", "/proc/2/root"}) {
    forbidden(path, opens(path, O_RDONLY));
  }
  for (const char* path : {"/proc/2/mem", "/proc/2/comm", "/proc/2/oom_score_adj", "/proc/2/clear_refs"}) {
    forbidden(path, opens(path, O_WRONLY));
  }
}

void run(char** /*arguments*/) {
  allowed("seeing that it is there", exists("/proc/2/stat"));
  signal_it();
  const rlimit starved{0, 0};
  for (const auto limit : {RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_STACK}) {
    forbidden("prlimit", ::prlimit(kBridge, limit, &starved, nullptr) == 0);
  }
  look_into_it();
  forbidden("taking a descriptor of it", ::syscall(SYS_pidfd_open, kBridge, 0) >= 0);
  forbidden("its end", !exists("/proc/2/stat"));
}

const Program kProgram{"attack-bridge", &run};

}  // namespace
}  // namespace loom::probes
