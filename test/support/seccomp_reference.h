// The same table compiled by libseccomp: an independent second opinion on ours. The libseccomp adapter, and the only
// one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/seccomp_table.h"

namespace loom::test {

// This machine's program; "" when libseccomp refuses a row. Numbers above the table are libseccomp's to allow.
[[nodiscard]] std::string reference_seccomp(const std::vector<SeccompRow>& rows);
// The number libseccomp gives a name on a machine; -1 when it does not know the name or the machine has no such call.
[[nodiscard]] int number_by_name(std::string_view name, Machine machine);

}  // namespace loom::test
