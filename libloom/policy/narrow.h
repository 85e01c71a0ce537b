// Which requirements a policy does not satisfy (spec/policy.md "Composition"). What is frozen or protected is never a
// narrowing. Pure and total.
#pragma once

#include <vector>

#include "policy/compose.h"
#include "policy/model.h"

namespace loom {

// In the order of the document's fields. `granted` of a root is what lies inside it in `policy`: nil, one path, or a
// list of them.
[[nodiscard]] std::vector<Narrowing> narrowings_of(const Policy& requirements, const Policy& policy);

}  // namespace loom
