// loom-exec self-test: each layer attacked by small programs through the same path as a real command, on the live
// kernel (spec/jail.md "self-test").
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "helper/host_context.h"
#include "helper/self_test/trial.h"

namespace loom::helper {

struct ProbeResult {
  std::string name;
  std::string misdeed;              // what is tried, in a few words
  std::vector<std::string> layers;  // what it rests on
  Verdict verdict = Verdict::kFailed;
  std::string reason;  // of a skip or a failure
  std::int64_t wall_ms = 0;
};

// Nothing is there to try: a platform without a jail leads its features with the skip of it.
[[nodiscard]] bool without_a_jail(const Report& features);

// All probes, in order; `each` hears of a probe before it begins. Errors: spawn_failed, where none could be started.
[[nodiscard]] Result<std::vector<ProbeResult>> run_self_test(const HostContext& host,
                                                             const std::function<void(std::string_view)>& each);

}  // namespace loom::helper
