#include "wire/cancel.h"

#include "wire/fields.h"

namespace loom {

Value encode(const Cancel& message) {
  return BodyWriter(1).add("target", message.target).done();
}

Result<Cancel> decode_cancel(const Value& body) {
  Fields fields("cancel", body);
  Cancel message;
  fields.count("target", message.target);
  return finish(fields, message);
}

}  // namespace loom
