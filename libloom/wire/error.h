// An error about the frame (or the execution) whose id it carries; id 0 speaks of the channel.
// Carries out: spec/wire.md "Exec channel" and "Faults".
#pragma once

#include <string>

#include "base/result.h"
#include "base/value.h"

namespace loom {

struct ErrorMessage {
  std::string code;
  std::string msg;
  friend bool operator==(const ErrorMessage&, const ErrorMessage&) = default;
};

[[nodiscard]] Value encode(ErrorMessage const& message);
[[nodiscard]] Result<ErrorMessage> decode_error(const Value& body);

}  // namespace loom
