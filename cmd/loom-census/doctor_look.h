// What the doctor has others do: the helper says what it holds, one jail is built and ended, bubblewrap is tried for
// the faults it is known for. All of it in a directory of its own that goes with it.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/doctor.h"

namespace loom::census {

// `base`: the cgroup base to ask about, or "". Errors: spawn_failed, read_timeout, bad_answer (no loom-exec that
// answers).
[[nodiscard]] Result<DoctorFacts> look_for_doctor(const std::string& helper, const std::string& base);

}  // namespace loom::census
