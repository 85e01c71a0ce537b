// The roots that a policy trusts, as one PEM text. Internal to transfer*.cc.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "egress/policy_document.h"

namespace loom::egress {

// Nothing: the system's. Errors, with the file as their place: unreadable, bad_trust (a file without a certificate, or
// no file at all).
[[nodiscard]] Result<std::optional<std::string>> read_roots(const Trust& trust);

}  // namespace loom::egress
