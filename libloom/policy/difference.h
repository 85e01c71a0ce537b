// What one policy allows that another does not (`loom-policy diff`). Pure and total.
#pragma once

#include <vector>

#include "policy/compose.h"

namespace loom {

// One line a thing: as a narrowing, `wanted` is what `wide` allows and `granted` what `narrow` allows of it. Beyond the
// kinds of a narrowing: "frozen", "protected" and "read_only_mount" (narrow keeps this path from being written or seen,
// wide does not) and "proxy" (another proxy's socket).
[[nodiscard]] std::vector<Narrowing> allowed_beyond(const Policy& narrow, const Policy& wide);

}  // namespace loom
