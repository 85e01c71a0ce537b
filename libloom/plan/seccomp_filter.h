// From the table to the program the kernel runs: classic BPF, as bytes (struct sock_filter of a little-endian machine).
// A few microseconds, so that it can be made for every start; ours rather than libseccomp's, which takes a millisecond,
// does not know the newest numbers, and cannot say "everything above". Tests hold the two against each other. Carries
// out: spec/jail.md "seccomp".
#pragma once

#include <string>
#include <vector>

#include "plan/seccomp_table.h"

namespace loom {

// Eight bytes an instruction. Total: rows whose call the machine lacks are left out.
[[nodiscard]] std::string compile_seccomp(const std::vector<SeccompRow>& rows, Machine machine);

}  // namespace loom
