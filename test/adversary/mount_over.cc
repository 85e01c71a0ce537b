// Misdeed: a bind or a move uncovers or covers a path
// Witness: a directory can be made
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("a directory", ::mkdir("point", 0755) == 0);
  forbidden("bind", ::mount("/usr", "point", nullptr, MS_BIND | MS_REC, nullptr) == 0);
  forbidden("bind the protected one", ::mount("a/b", "point", nullptr, MS_BIND, nullptr) == 0);
  forbidden("move", ::mount("/proc", "point", nullptr, MS_MOVE, nullptr) == 0);
  forbidden("propagation", ::mount(nullptr, "/", nullptr, MS_SHARED | MS_REC, nullptr) == 0);
}

const Program kProgram{"mount_over", &run};

}  // namespace
}  // namespace loom::probes
