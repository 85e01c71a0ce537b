// After an execution: which repositories the index of a work tree leads git into whose configuration the command may
// have written (spec/jail.md "Git"). Looks paths up and may wait: for the process that takes placeholders away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/model.h"

namespace loom::helper {

// `began`: before the execution, in the kernel's own time of change (nanoseconds). `was`: when the index was last
// changed then; 0: there was none. Events without "event:": "repo-in-index=DIR" for a directory of the index that is a
// repository and was changed, or that a changed index names and that holds its own; "git-index=unread: PATH" for a
// changed index that cannot be read whole. At most 64, and one that counts the rest.
[[nodiscard]] std::vector<std::string> look_at_index(const Path& index, std::uint64_t began, std::uint64_t was);

}  // namespace loom::helper
