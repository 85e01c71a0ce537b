// Misdeed: the umask of the starter makes files that all may write
// Witness: files can be made
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("make a file", ::open("made", O_CREAT | O_WRONLY, 0666) >= 0);
  struct stat facts {};
  forbidden("for all to write", ::stat("made", &facts) == 0 && (facts.st_mode & 022) != 0);
}

const Program kProgram{"leak_umask", &run};

}  // namespace
}  // namespace loom::probes
