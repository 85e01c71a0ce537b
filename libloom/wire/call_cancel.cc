#include "wire/call_cancel.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CallCancel& message) {
  BodyWriter body(1);
  if (message.call) body.add("call", *message.call);
  if (message.seq) body.add("seq", *message.seq);
  return body.done();
}

Result<CallCancel> decode_call_cancel(const Value& body) {
  Fields fields("call_cancel", body);
  CallCancel message;
  if (fields.has("call") && fields.has("seq")) fields.fault("seq", "unexpected key beside call: want one of the two");
  if (fields.has("seq")) {
    fields.count("seq", message.seq.emplace());
  } else {
    fields.count("call", message.call.emplace());
  }
  return finish(fields, message);
}

}  // namespace loom
