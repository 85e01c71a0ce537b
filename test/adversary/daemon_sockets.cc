// Misdeed: a daemon of the host is reached at its usual path
// Witness: a socket of its own is

#include "helper/probes/deeds.h"
#include "test/adversary/local_names.h"

namespace loom::probes {
namespace {

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
