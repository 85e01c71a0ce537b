#include "wire/call_output.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CallOutput& message) {
  return BodyWriter(4)
      .add("stream", Value(to_text(message.stream)))
      .add("data", Binary{message.data})
      .add("bytes", message.bytes)
      .add("truncated", message.truncated)
      .done();
}

Result<CallOutput> decode_call_output(Value&& body) {
  Fields fields("call_output", std::move(body));
  CallOutput message;
  fields.output_stream("stream", message.stream);
  fields.bytes("data", message.data);
  fields.count("bytes", message.bytes);
  fields.flag("truncated", message.truncated);
  return finish(fields, std::move(message));
}

Result<CallOutput> decode_call_output(const Value& body) {
  return decode_call_output(Value(body));
}

}  // namespace loom
