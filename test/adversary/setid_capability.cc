// Misdeed: a program gets capabilities as an attribute of its file
// Witness: another attribute, or a program at all
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("a program", writes("program", "#!/bin/sh\n"));
  vfs_ns_cap_data data{};
  data.magic_etc = VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE;
  data.data[0].permitted = ~0U;
  forbidden("of a namespace", ::setxattr("program", "security.capability", &data, sizeof data, 0) == 0);
  data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  forbidden("of the host", ::setxattr("program", "security.capability", &data, XATTR_CAPS_SZ_2, 0) == 0);
}

const Program kProgram{"setid_capability", &run};

}  // namespace
}  // namespace loom::probes
