// A kernel that lies: the named system calls say that they did what was asked, and do nothing, for everything that is
// started from here. usage: lying_kernel CALL[,CALL]... -- COMMAND...     calls: seccomp landlock_restrict_self
// mount_setattr (never as root: its builder relies on private mounts) prlimit64 (setting alone) capset prctl_bounding
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr unsigned kDone = SECCOMP_RET_ERRNO;  // with the error 0: "done"

struct Lie {
  const char* name;
  unsigned number;
  unsigned argument;  // index of the argument that must have `value` in its low half; 6: any
  unsigned value;
};

constexpr Lie kLies[] = {
    {"seccomp", SYS_seccomp, 0, SECCOMP_SET_MODE_FILTER},
    {"landlock_restrict_self", SYS_landlock_restrict_self, 6, 0},
    {"mount_setattr", SYS_mount_setattr, 6, 0},
    {"prlimit64", SYS_prlimit64, 3, 0},
    {"capset", SYS_capset, 6, 0},
    {"prctl_bounding", SYS_prctl, 0, PR_CAPBSET_DROP},
};

void add(std::vector<sock_filter>& code, const Lie& lie) {
  const auto statement = [](unsigned what, unsigned value) {
    return sock_filter{static_cast<unsigned short>(what), 0, 0, value};
  };
  const bool any = lie.argument > 5;
  code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<unsigned char>(any ? 1 : 3), lie.number});
  if (!any) {
    code.push_back(
        statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offsetof(seccomp_data, args)) + 8 * lie.argument));
    code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, lie.value});
  }
  code.push_back(statement(BPF_RET | BPF_K, kDone));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[2], "--") != 0) {
    std::fputs("usage: lying_kernel CALL[,CALL]... -- COMMAND...\n", stderr);
    return 2;
  }
  const std::string named = "," + std::string(argv[1]) + ",";
  std::vector<sock_filter> code;
  for (const Lie& lie : kLies) {
    if (named.find("," + std::string(lie.name) + ",") != std::string::npos) add(code, lie);
  }
  if (named.find(",mount_setattr,") != std::string::npos && ::geteuid() == 0) {
    std::fputs("lying_kernel: not as root: mounts of the jail would reach the host\n", stderr);
    return 2;
  }
  code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::geteuid() != 0) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    std::perror("lying_kernel: seccomp");
    return 2;
  }
  ::execvp(argv[3], argv + 3);
  std::perror(argv[3]);
  return 127;
}
