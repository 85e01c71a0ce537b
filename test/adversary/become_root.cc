// Misdeed: the id of root or of another is taken
// Witness: its own is
#include <grp.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  allowed("its own", ::setuid(::getuid()) == 0 && ::getuid() == ::geteuid());
  forbidden("root already", ::getuid() == 0 || ::getgid() == 0);
  for (const uid_t id : {0U, 1U, 33U, 65534U}) {
    if (id == ::getuid()) continue;
    forbidden_number(
        "user", id, ::setuid(id) == 0 || ::setreuid(id, id) == 0 || ::setresuid(id, id, id) == 0 || ::seteuid(id) == 0);
    forbidden_number("group", id, ::setgid(id) == 0 || ::setresgid(id, id, id) == 0 || ::setegid(id) == 0);
    ::setfsuid(id);
    forbidden_number("of files", id, static_cast<uid_t>(::setfsuid(::getuid())) == id);
    const gid_t group = id;
    forbidden_number("groups", id, ::setgroups(1, &group) == 0);
  }
}

const Program kProgram{"become_root", &run};

}  // namespace
}  // namespace loom::probes
