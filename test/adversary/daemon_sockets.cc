// Misdeed: a daemon of the host is reached at its usual path
// Witness: a socket of its own is
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

void run(char** /*arguments*/) {
  allowed("its own", reaches_itself(named("own-socket", false)));
  for (const char* path : {"/run/docker.sock",
                           "/var/run/docker.sock",
                           "/run/dbus/system_bus_socket",
                           "/var/run/dbus/system_bus_socket",
                           "/run/systemd/private",
                           "/run/systemd/notify",
                           "/run/systemd/journal/socket",
                           "/dev/log",
                           "/var/lib/lxd/unix.socket",
                           "/var/snap/lxd/common/lxd/unix.socket",
                           "/run/lxd.socket",
                           "/var/lib/incus/unix.socket",
                           "/run/snapd.socket",
                           "/run/containerd/containerd.sock",
                           "/run/podman/podman.sock",
                           "/run/udev/control",
                           "/run/acpid.socket",
                           "/run/user/0/bus",
                           "/run/user/1000/bus",
                           "/run/user/1001/bus",
                           "/run/libvirt/libvirt-sock",
                           "/run/nscd/socket",
                           "/tmp/.X11-unix/X0"}) {
    forbidden(path, exists(path) || connects(named(path, false)));
  }
}

const Program kProgram{"daemon_sockets", &run};

}  // namespace
}  // namespace loom::probes
