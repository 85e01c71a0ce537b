// Putting a seccomp filter of the orders on the calling process.
#pragma once

#include "helper/stage2/orders.h"

namespace loom::stage2 {

// The kernel's own answer: with SECCOMP_FILTER_FLAG_NEW_LISTENER the listener. -ENOENT: the orders hold none of this
// tag.
long load_filter(const Orders& orders, Tag wanted, unsigned flags);

}  // namespace loom::stage2
