// Cores are given 600 random sequences each; RC_PARAMS overrides it.
#pragma once

#include <cstdlib>

namespace loom::broker::test {

inline const int kSixHundredRuns = ::setenv("RC_PARAMS", "seed=20261129 max_success=600", 0);

}  // namespace loom::broker::test
