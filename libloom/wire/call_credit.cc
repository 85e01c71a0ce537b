#include "wire/call_credit.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CallCredit& message) {
  return BodyWriter(3)
      .add("call", message.call)
      .add("stream", Value(to_text(message.stream)))
      .add("upto", message.upto)
      .done();
}

Result<CallCredit> decode_call_credit(const Value& body) {
  Fields fields("call_credit", body);
  CallCredit message;
  fields.count("call", message.call);
  fields.stream("stream", message.stream);
  fields.count("upto", message.upto);
  return finish(fields, message);
}

}  // namespace loom
