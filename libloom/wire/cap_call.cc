#include "wire/cap_call.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CapCall& message) {
  return BodyWriter(4)
      .add("token", Binary{message.token})
      .add("cap", message.cap)
      .add("args", message.args)
      .add("deadline_ms", message.deadline_ms)
      .done();
}

Result<CapCall> decode_cap_call(const Value& body) {
  Fields fields("cap_call", body);
  CapCall message;
  fields.secret("token", message.token);
  fields.text("cap", message.cap);
  fields.any("args", message.args);
  fields.count("deadline_ms", message.deadline_ms, {0, kMaxMilliseconds});
  return finish(fields, std::move(message));
}

}  // namespace loom
