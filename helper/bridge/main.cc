#include <linux/prctl.h>
#include <sys/prctl.h>

#include "helper/bridge/bridge.h"
#include "helper/stage2/entry.h"
#include "helper/stage2/sys.h"

// Every signal that can be is blocked by whoever started it, and stays so.
extern "C" [[noreturn]] void loom_main(const long* stack) {
  using namespace loom;
  stage2::call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  stage2::leave(stack[0] == 2 ? bridge::serve(reinterpret_cast<const char*>(stack[2])) : 1);
}
