// Misdeed: more output than allowed, or memory of loom for it
// Witness: it goes on to its end
#include <unistd.h>

#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  tell_on(2);
  static char block[65536];
  std::memset(block, 'x', sizeof block);
  bool whole = true;
  for (int i = 0; i < 256; ++i) whole = ::write(1, block, sizeof block) == sizeof block && whole;
  allowed("write sixteen mebibytes", whole);
}

const Program kProgram{"output_flood", &run};

}  // namespace
}  // namespace loom::probes
