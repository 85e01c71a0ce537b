// Misdeed: a device of the machine is opened or made
// Witness: /dev/null can be written
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("write /dev/null", writes("/dev/null", "x"));
  for (const char* path :
       {"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/loop0", "/dev/vda",
        "/dev/sda", "/dev/nvme0", "/dev/rtc0", "/dev/hpet", "/dev/userfaultfd", "/dev/vhost-vsock", "/dev/console"}) {
    forbidden(path, opens(path, O_RDONLY) || opens(path, O_WRONLY));
  }
  forbidden("a block device", ::mknod("block", S_IFBLK | 0666, makedev(254, 0)) == 0);
  forbidden("a character device", ::mknod("character", S_IFCHR | 0666, makedev(1, 1)) == 0);
  forbidden("one in /dev", ::mknod("/dev/mine", S_IFCHR | 0666, makedev(1, 3)) == 0);
  forbidden("one in the shared memory", ::mknod("/dev/shm/mine", S_IFCHR | 0666, makedev(1, 1)) == 0);
}

const Program kProgram{"devices", &run};

}  // namespace
}  // namespace loom::probes
