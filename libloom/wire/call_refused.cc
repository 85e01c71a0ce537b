#include "wire/call_refused.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CallRefused& message) {
  return BodyWriter(3)
      .add("reason", message.reason)
      .add("detail", message.detail)
      .add("wanted", Array(message.wanted))
      .done();
}

Result<CallRefused> decode_call_refused(const Value& body) {
  Fields fields("call_refused", body);
  CallRefused message;
  fields.text("reason", message.reason);
  fields.map("detail", message.detail);
  fields.maps("wanted", message.wanted);
  return finish(fields, std::move(message));
}

}  // namespace loom
