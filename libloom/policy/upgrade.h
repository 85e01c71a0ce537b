// Version 2 documents (spec/policy.md "Shape"): version 3 without `frozen`. Only `loom-policy convert` reads them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "policy/model.h"

namespace loom {

// As decode_policy_bytes, but a version 2 document is decoded as such, upgraded and then validated.
[[nodiscard]] Result<Policy> decode_policy_upgrading(std::string_view bytes);

// A readable root strictly inside a writable one meant read-only in version 2; in version 3 the word for that is
// frozen. What was writable again further inside is not: frozen is never writable, so the upgrade can only narrow.
[[nodiscard]] Policy freeze_readable_inside_writable(Policy policy);

}  // namespace loom
