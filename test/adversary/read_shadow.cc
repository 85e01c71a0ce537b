// Misdeed: the password hashes are read
// Witness: the names of the users are
#include <fcntl.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("read /etc/passwd", reads("/etc/passwd"));
  for (const char* path : {"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers", "/etc/security/opasswd"}) {
    forbidden(path, opens(path, O_RDONLY));
  }
}

const Program kProgram{"read_shadow", &run};

}  // namespace
}  // namespace loom::probes
