// From the table to the program the kernel runs: classic BPF, as bytes (struct sock_filter of a little-endian machine).
// A few microseconds, so that it can be made for every start; ours rather than libseccomp's, which takes a millisecond,
// does not know the newest numbers, and cannot say "everything above". Tests hold the two against each other. Carries
// out: spec/jail.md "seccomp".
#pragma once

#include <string>
#include <vector>

#include "plan/file_calls.h"
#include "plan/seccomp_table.h"

namespace loom {

// Eight bytes an instruction. Total: rows whose call the machine lacks are left out.
[[nodiscard]] std::string compile_seccomp(const std::vector<SeccompRow>& rows, Machine machine);
// The same refusals for a watched command (--why). Calls that the rows refuse go to the supervisor, which refuses them;
// so do all calls of `told`, whose refusals stay the kernel's own and whose rest the supervisor lets go on. What is
// refused with ENOSYS stays so: callers fall back, and nothing was denied them.
[[nodiscard]] std::string compile_watching_seccomp(const std::vector<SeccompRow>& rows,
                                                   const std::vector<FileCall>& told, Machine machine);

}  // namespace loom
