// Misdeed: a capability is held, taken back or lent
// Witness: the sets can be read
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  allowed("read them", ::syscall(SYS_capget, &header, data) == 0);
  for (const auto& set : data) forbidden("held", (set.effective | set.permitted | set.inheritable) != 0);
  for (int capability = 0; capability < 41; ++capability) {
    if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) != 0) forbidden_number("in the bounding set", capability, true);
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0)
      forbidden_number("ambient", capability, true);
  }
  data[0].effective = data[0].permitted = data[0].inheritable = ~0U;
  forbidden("set", ::syscall(SYS_capset, &header, data) == 0);
  forbidden("keep them", ::prctl(PR_SET_SECUREBITS, 0x10, 0, 0, 0) == 0);
}

const Program kProgram{"capabilities", &run};

}  // namespace
}  // namespace loom::probes
