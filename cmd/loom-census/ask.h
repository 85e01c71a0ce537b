// The question to a running broker, with five seconds for its answer; those to programs are service/questions.h's.
#pragma once

#include <string>

#include "base/result.h"
#include "broker/census.h"

namespace loom::census {

// Errors: no_broker, no_answer, proto_mismatch, the broker's own, and those of the wire.
[[nodiscard]] Result<broker::Census> ask_broker(const std::string& socket);

}  // namespace loom::census
