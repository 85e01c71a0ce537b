#include "wire/exec_out.h"

#include "wire/fields.h"

namespace loom {

Value encode(const ExecOut& message) {
  return BodyWriter(4)
      .add("stream", Value(to_text(message.stream)))
      .add("data", Binary{message.data})
      .add("bytes", message.bytes)
      .add("truncated", message.truncated)
      .done();
}

Result<ExecOut> decode_exec_out(Value&& body) {
  Fields fields("exec_out", std::move(body));
  ExecOut message;
  fields.output_stream("stream", message.stream);
  fields.bytes("data", message.data);
  fields.count("bytes", message.bytes);
  fields.flag("truncated", message.truncated);
  return finish(fields, std::move(message));
}

Result<ExecOut> decode_exec_out(const Value& body) {
  return decode_exec_out(Value(body));
}

}  // namespace loom
