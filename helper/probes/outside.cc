// Misdeed: writes where no root of the policy is.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  allowed("write in the workspace", writes("made", "made"));
  allowed("write in the scratch", writes("/tmp/made-by-probe", "made"));
  for (const char* path : {"/made-by-probe", "/usr/made-by-probe", "/etc/made-by-probe", "/opt/made-by-probe",
                           "/usr/bin/made-by-probe", "/dev/made-by-probe"}) {
    forbidden(path, creates(path));
  }
  forbidden("write /etc/passwd", opens("/etc/passwd", O_WRONLY));
  forbidden("write /bin/sh", opens("/bin/sh", O_WRONLY));
  forbidden("remove /etc/passwd", ::unlink("/etc/passwd") == 0);
  forbidden("rename /etc", ::rename("/etc", "/tmp/etc") == 0);
  forbidden("change the mode of /usr", ::chmod("/usr", 0777) == 0);
  forbidden("a directory in the root", ::mkdir("/made-by-probe", 0755) == 0);
  char path[4096];
  std::snprintf(path, sizeof path, "%s/made", arguments[0]);
  forbidden("a file in a directory of the host", creates(path));
  std::snprintf(path, sizeof path, "/proc/self/root/%s/made", arguments[0]);
  forbidden("the same through /proc", creates(path));
}

const Program kProgram{"outside", &run, true};

}  // namespace
}  // namespace loom::probes
