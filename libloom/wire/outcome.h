// What a capability or a hook answered: a value, or an error with a code. One codec for both directions.
// Carries out: spec/wire.md "Capability channel".
#pragma once

#include <optional>

#include "base/result.h"
#include "base/value.h"
#include "wire/error.h"
#include "wire/fields.h"

namespace loom {

struct CapOutcome {  // exactly one
  std::optional<Value> value;
  std::optional<ErrorMessage> error;
  friend bool operator==(const CapOutcome&, const CapOutcome&) = default;
};

// The keys ok and value, or ok and error, of a body that may have more.
void write_outcome(BodyWriter& body, const CapOutcome& outcome);
void read_outcome(Fields& fields, CapOutcome& outcome);

}  // namespace loom
