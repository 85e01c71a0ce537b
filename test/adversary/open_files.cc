// Misdeed: descriptors without an end
// Witness: a hundred
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  int open = 0;
  for (int i = 0; i < 1 << 21; ++i) {
    if (::dup(0) < 0) break;
    ++open;
  }
  allowed("a hundred", open > 100);
  forbidden("without an end", open >= 1 << 21);
  const rlimit most{1U << 22U, 1U << 22U};
  forbidden("a higher limit", ::setrlimit(RLIMIT_NOFILE, &most) == 0);
}

const Program kProgram{"open_files", &run};

}  // namespace
}  // namespace loom::probes
