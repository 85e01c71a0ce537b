#include "wire/exec_stdin.h"

#include "wire/fields.h"

namespace loom {

Value encode(const ExecStdin& message) {
  return BodyWriter(3).add("target", message.target).add("data", Binary{message.data}).add("eof", message.eof).done();
}

Result<ExecStdin> decode_exec_stdin(Value&& body) {
  Fields fields("exec_stdin", std::move(body));
  ExecStdin message;
  fields.count("target", message.target);
  fields.bytes("data", message.data);
  fields.flag("eof", message.eof);
  return finish(fields, std::move(message));
}

Result<ExecStdin> decode_exec_stdin(const Value& body) {
  return decode_exec_stdin(Value(body));
}

}  // namespace loom
