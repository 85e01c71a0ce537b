#include "wire/error.h"

#include "wire/fields.h"

namespace loom {

Value encode(const ErrorMessage& message) {
  return BodyWriter(2).add("code", message.code).add("msg", message.msg).done();
}

Result<ErrorMessage> decode_error(const Value& body) {
  Fields fields("error", body);
  ErrorMessage message;
  fields.text("code", message.code);
  fields.text("msg", message.msg);
  return finish(fields, std::move(message));
}

}  // namespace loom
