// The probes of the self-test, in the order in which they run.
#pragma once

#include <string_view>
#include <vector>

#include "helper/self_test/trial.h"

namespace loom::helper {

struct ProbeCase {
  std::string_view name;
  std::string_view misdeed;
  std::vector<std::string_view> layers;  // without one of these there is nothing to try: SKIPPED, with its reason
  void (*run)(Trial&);
};

[[nodiscard]] const std::vector<ProbeCase>& probe_cases();

}  // namespace loom::helper
