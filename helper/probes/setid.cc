// Misdeed: makes a set-id file by every call that can.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

constexpr mode_t kBad = S_ISUID | 0755;
constexpr mode_t kBadGroup = S_ISGID | 0755;

void told(const char* name, long answer) {
  forbidden(name, answer >= 0);
}

void run(char** /*arguments*/) {
  const int fd = ::open("victim", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  allowed("make a program", fd >= 0 && ::fchmod(fd, 0755) == 0 && ::chmod("victim", 0700) == 0);
#ifdef SYS_chmod
  told("chmod", ::syscall(SYS_chmod, "victim", kBad));
  told("chmod of the group", ::syscall(SYS_chmod, "victim", kBadGroup));
  told("chmod with high bits", ::syscall(SYS_chmod, "victim", (0xffffffffUL << 32U) | kBad));
  told("creat", ::syscall(SYS_creat, "creat", kBad));
  told("open", ::syscall(SYS_open, "open", O_CREAT | O_WRONLY, kBad));
  told("mknod", ::syscall(SYS_mknod, "mknod", S_IFREG | kBad, 0));
#endif
  told("fchmod", ::syscall(SYS_fchmod, fd, kBad));
  told("fchmodat", ::syscall(SYS_fchmodat, AT_FDCWD, "victim", kBad));
  told("fchmodat2", ::syscall(452, AT_FDCWD, "victim", kBad, 0));
  told("openat", ::syscall(SYS_openat, AT_FDCWD, "openat", O_CREAT | O_WRONLY, kBad));
  told("an unnamed file", ::syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_WRONLY, kBadGroup));
  told("mknodat", ::syscall(SYS_mknodat, AT_FDCWD, "mknodat", S_IFREG | kBad, 0));
  const unsigned long how[3] = {O_CREAT | O_WRONLY, kBad, 0};
  told("openat2", ::syscall(SYS_openat2, AT_FDCWD, "openat2", how, sizeof how));
}

const Program kProgram{"setid", &run, true};

}  // namespace
}  // namespace loom::probes
