#include "wire/exec_credit.h"

#include "wire/fields.h"

namespace loom {

Value encode(const ExecCredit& message) {
  return BodyWriter(3)
      .add("target", message.target)
      .add("stream", Value(to_text(message.stream)))
      .add("upto", message.upto)
      .done();
}

Result<ExecCredit> decode_exec_credit(const Value& body) {
  Fields fields("exec_credit", body);
  ExecCredit message;
  fields.count("target", message.target);
  fields.stream("stream", message.stream);
  fields.count("upto", message.upto);
  return finish(fields, message);
}

}  // namespace loom
