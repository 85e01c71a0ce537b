#include "wire/outcome.h"

namespace loom {

void write_outcome(BodyWriter& body, const CapOutcome& outcome) {
  body.add("ok", outcome.value.has_value());
  if (outcome.value) body.add("value", *outcome.value);
  if (outcome.error) body.add("error", encode(*outcome.error));
}

void read_outcome(Fields& fields, CapOutcome& outcome) {
  bool ok = false;
  fields.flag("ok", ok);
  if (ok) {
    fields.any("value", outcome.value.emplace());
    return;
  }
  const Value* const error = fields.value("error");
  if (error == nullptr) return;
  Fields inner(fields.place_of("error"), *error, fields.code());
  auto& message = outcome.error.emplace();
  inner.text("code", message.code);
  inner.text("msg", message.msg);
  fields.absorb(inner.finish());
}

}  // namespace loom
