// Questions to the parts, each with five seconds for its answer; the helper's is service/questions.h's. Every process
// started here has ended when a call returns.
#pragma once

#include <string>

#include "base/result.h"
#include "broker/census.h"

namespace loom::census {

// The version that PROGRAM --version tells. Errors: spawn_failed, read_timeout, bad_answer.
[[nodiscard]] Result<std::string> ask_version(const std::string& program);
// Errors: no_broker, no_answer, proto_mismatch, the broker's own, and those of the wire.
[[nodiscard]] Result<broker::Census> ask_broker(const std::string& socket);

}  // namespace loom::census
