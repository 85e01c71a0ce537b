// Misdeed: a variable of the starter is there, also in /proc
// Witness: one that was let in is
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("PATH", std::getenv("PATH") != nullptr);
  const char* value = std::strchr(arguments[5], '=') + 1;
  char name[64] = {};
  std::memcpy(name, arguments[5], static_cast<std::size_t>(value - arguments[5]) - 1);
  forbidden("the variable", std::getenv(name) != nullptr);
  for (const char* path : {"/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline"}) {
    static char bytes[65536];
    const int fd = ::open(path, O_RDONLY);
    const ssize_t got = ::read(fd, bytes, sizeof bytes);
    forbidden(path, got > 0 && ::memmem(bytes, static_cast<std::size_t>(got), value, std::strlen(value)) != nullptr);
  }
  for (const char* loader :
       {"LD_PRELOAD", "LD_LIBRARY_PATH", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY"}) {
    forbidden(loader, std::getenv(loader) != nullptr);
  }
}

const Program kProgram{"leak_environment", &run};

}  // namespace
}  // namespace loom::probes
