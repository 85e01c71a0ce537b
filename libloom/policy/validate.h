// Validation (spec/policy.md): of every document when read, and of the composed policy before dispatch
// (validate_composed in decode.h). Pure. Errors are the codes of the table there; `where` is the key path of the entry
// at fault.
#pragma once

#include "base/result.h"
#include "policy/model.h"

namespace loom {

[[nodiscard]] Status validate_document(const Policy& policy);

// path_not_canonical, with `where` as given: one region has one name.
[[nodiscard]] Status validate_path(const Path& path, const std::string& where);

}  // namespace loom
