// Misdeed: talks to a program of the host through its socket: an abstract name, a path, a daemon's usual place.
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

Name named(const char* path, bool abstract) {
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path) < 100 ? std::strlen(path) : 100;
  std::memcpy(name.address.sun_path + (abstract ? 1 : 0), path, length);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + 1);
  return name;
}

bool connects(const Name& name) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    const bool reached = fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0;
    if (fd >= 0) ::close(fd);
    if (reached) return true;
  }
  return false;
}

bool reaches_itself(const Name& name) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ready =
      fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0 && ::listen(fd, 1) == 0;
  return ready && connects(name);
}

// The second argument: the abstract name of a listener on the host; another listens at "socket" in the directory.
void run(char** arguments) {
  allowed("a listener of its own, by path", reaches_itself(named("own-socket", false)));
  allowed("a listener of its own, abstract", reaches_itself(named("loom-probe-own", true)));
  forbidden("an abstract socket of the host", connects(named(arguments[1], true)));
  char path[4096];
  std::snprintf(path, sizeof path, "%s/socket", arguments[0]);
  forbidden("a socket of the host", connects(named(path, false)));
  for (const char* usual :
       {"/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
        "/run/systemd/journal/socket", "/dev/log", "/var/lib/lxd/unix.socket", "/run/lxd.socket", "/run/snapd.socket",
        "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/tmp/.X11-unix/X0", "/run/user/1000/bus"}) {
    forbidden(usual, exists(usual) || connects(named(usual, false)));
  }
  forbidden("the display", connects(named("/tmp/.X11-unix/X0", true)));
}

const Program kProgram{"host-sockets", &run};

}  // namespace
}  // namespace loom::probes
