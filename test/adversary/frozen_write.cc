// Misdeed: a frozen file is written, cut or extended
// Witness: it can be read
#include <fcntl.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("read it", reads("hooks/run"));
  forbidden("write", opens("hooks/run", O_WRONLY));
  forbidden("append", opens("hooks/run", O_WRONLY | O_APPEND));
  forbidden("cut by opening", opens("hooks/run", O_RDONLY | O_TRUNC));
  forbidden("cut", ::truncate("hooks/run", 0) == 0);
  forbidden("a new one", creates("hooks/made"));
}

const Program kProgram{"frozen_write", &run};

}  // namespace
}  // namespace loom::probes
