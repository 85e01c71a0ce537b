#include "wire/call_stdin.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CallStdin& message) {
  return BodyWriter(3).add("call", message.call).add("data", Binary{message.data}).add("eof", message.eof).done();
}

Result<CallStdin> decode_call_stdin(Value&& body) {
  Fields fields("call_stdin", std::move(body));
  CallStdin message;
  fields.count("call", message.call);
  fields.bytes("data", message.data);
  fields.flag("eof", message.eof);
  return finish(fields, std::move(message));
}

Result<CallStdin> decode_call_stdin(const Value& body) {
  return decode_call_stdin(Value(body));
}

}  // namespace loom
