// Local sockets by their names, for the misdeeds that look for the host's.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace loom::probes {

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
};

inline Name named(const char* text, bool abstract) {
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(text) < 100 ? std::strlen(text) : 100;
  std::memcpy(name.address.sun_path + (abstract ? 1 : 0), text, length);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + 1);
  return name;
}

inline bool connects(const Name& name) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    const int fd = ::socket(AF_UNIX, type, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0) return true;
    ::close(fd);
  }
  return false;
}

inline bool reaches_itself(const Name& name) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0 && ::listen(fd, 1) == 0 &&
         connects(name);
}

}  // namespace loom::probes
