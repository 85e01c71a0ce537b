// Misdeed: a file is given to another owner
// Witness: its own mode can be changed
#include <sys/stat.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its mode", writes("mine", "x") && ::chmod("mine", 0600) == 0);
  for (const uid_t id : {0U, 1U, 33U, 1879048192U}) {
    forbidden_number("owner", id, ::chown("mine", id, static_cast<gid_t>(-1)) == 0);
    forbidden_number("group", id, ::chown("mine", static_cast<uid_t>(-1), id) == 0);
  }
}

const Program kProgram{"give_files_away", &run};

}  // namespace
}  // namespace loom::probes
