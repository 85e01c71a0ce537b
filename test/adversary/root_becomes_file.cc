// Misdeed: a root replaced by a file or a fifo hangs or misleads a later execution
// Witness: it can be replaced
// Then: frozen=inner
#include <sys/stat.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** arguments) {
  if (*arguments[4] == '1') allowed("replace it by a fifo", ::rmdir("inner") == 0 && ::mkfifo("inner", 0666) == 0);
  allowed("write in the workspace", writes("made", "made"));
  forbidden("read through it", reads("inner/canary"));
}

const Program kProgram{"root_becomes_file", &run};

}  // namespace
}  // namespace loom::probes
