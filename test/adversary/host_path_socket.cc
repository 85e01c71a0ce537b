// Misdeed: a socket of the host is reached by its path
// Witness: one of its own is
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
};

Name named(const char* text, bool abstract) {
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(text) < 100 ? std::strlen(text) : 100;
  std::memcpy(name.address.sun_path + (abstract ? 1 : 0), text, length);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + 1);
  return name;
}

bool connects(const Name& name) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    const int fd = ::socket(AF_UNIX, type, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0) return true;
    ::close(fd);
  }
  return false;
}

bool reaches_itself(const Name& name) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0 && ::listen(fd, 1) == 0 &&
         connects(name);
}

void run(char** arguments) {
  allowed("its own", reaches_itself(named("own-socket", false)));
  char path[4096];
  std::snprintf(path, sizeof path, "%s/socket", arguments[0]);
  forbidden("the host's", connects(named(path, false)));
}

const Program kProgram{"host_path_socket", &run};

}  // namespace
}  // namespace loom::probes
