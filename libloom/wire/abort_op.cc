#include "wire/abort_op.h"

#include "wire/fields.h"

namespace loom {

Value encode(const AbortOp& message) {
  return BodyWriter(1).add("op_id", message.op_id).done();
}

Result<AbortOp> decode_abort_op(const Value& body) {
  Fields fields("abort_op", body);
  AbortOp message;
  fields.sized_text("op_id", message.op_id, 1, kMaxIdBytes);
  return finish(fields, std::move(message));
}

}  // namespace loom
