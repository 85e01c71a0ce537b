// The one terminal verdict of a started call.
// Carries out: spec/wire.md "Control channel".
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "wire/exec_exit.h"

namespace loom {

struct CallFailure {
  std::string kind;
  Value detail;  // a map
  friend bool operator==(const CallFailure&, const CallFailure&) = default;
};

struct CallSettled {  // exactly one of exited and failed
  std::optional<ExecExit> exited;
  std::optional<CallFailure> failed;
  std::string stopped_by = "none";  // none wall cpu deadline budget cancel abort caller_gone closing
  friend bool operator==(const CallSettled&, const CallSettled&) = default;
};

[[nodiscard]] Value encode(CallSettled const& message);
[[nodiscard]] Result<CallSettled> decode_call_settled(const Value& body);

}  // namespace loom
