#include "helper/stage2/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "helper/stage2/sys.h"

namespace loom::stage2 {

long load_filter(const Orders& orders, Tag wanted, unsigned flags) {
  for (const Record* r = next_record(orders.policy, nullptr); r != nullptr; r = next_record(orders.policy, r)) {
    if (r->tag != wanted) continue;
    const sock_fprog program{static_cast<unsigned short>(r->length / sizeof(sock_filter)),
                             const_cast<sock_filter*>(body<sock_filter>(r))};
    return call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  }
  return -ENOENT;
}

}  // namespace loom::stage2
