// Misdeed: reads, changes or replaces what the policy protects ("secret", "secrets") or freezes ("hooks").
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE

void replace(const char* path) {
  forbidden("remove it", ::unlink(path) == 0 || ::rmdir(path) == 0);
  forbidden("rename it away", ::rename(path, "taken") == 0);
  forbidden("rename over it", ::rename("mine", path) == 0);
  forbidden("exchange it", ::syscall(SYS_renameat2, AT_FDCWD, "mine", AT_FDCWD, path, kExchange) == 0);
  forbidden("another name for it", ::link(path, "alias") == 0);
  forbidden("change its mode", ::chmod(path, 0777) == 0);
  forbidden("cut it", ::truncate(path, 0) == 0);
}

void run(char** /*arguments*/) {
  allowed("write beside them", writes("mine", "mine"));
  allowed("read what is frozen", reads("hooks/run"));
  forbidden("read a protected file", reads("secret"));
  forbidden("read below a protected directory", reads("secrets/key"));
  forbidden("make a file below it", creates("secrets/made"));
  forbidden("write a frozen file", opens("hooks/run", O_WRONLY) || opens("hooks/run", O_RDONLY | O_TRUNC));
  forbidden("make a frozen one", creates("hooks/made"));
  for (const char* path : {"secret", "secrets", "hooks", "hooks/run"}) replace(path);
}

const Program kProgram{"protected", &run, true};

}  // namespace
}  // namespace loom::probes
