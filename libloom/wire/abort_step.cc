#include "wire/abort_step.h"

#include "wire/fields.h"

namespace loom {

Value encode(const AbortStep& message) {
  return BodyWriter(2).add("op_id", message.op_id).add("step_id", message.step_id).done();
}

Result<AbortStep> decode_abort_step(const Value& body) {
  Fields fields("abort_step", body);
  AbortStep message;
  fields.sized_text("op_id", message.op_id, 1, kMaxIdBytes);
  fields.sized_text("step_id", message.step_id, 1, kMaxIdBytes);
  return finish(fields, std::move(message));
}

}  // namespace loom
