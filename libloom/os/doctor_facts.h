// The doctor's look at this host: sysctls, calls that cannot succeed, mounts over /proc, the layout of cgroups. Reads
// and asks only; changes nothing (spec/cli.md "loom-census doctor").
#pragma once

#include "plan/doctor.h"

namespace loom {

// All but what a helper, a trial and bwrap have to say.
[[nodiscard]] DoctorFacts look_at_host_for_doctor();

}  // namespace loom
