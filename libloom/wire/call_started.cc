#include "wire/call_started.h"

#include "wire/fields.h"

namespace loom {
namespace {

Status decode_execution(const Value& body, ExecutionId& id) {
  Fields fields("call_started: /execution", body);
  fields.count("incarnation", id.incarnation);
  fields.count("seq", id.seq);
  return fields.finish();
}

}  // namespace

Value encode(const CallStarted& message) {
  Value execution =
      BodyWriter(2).add("incarnation", message.execution.incarnation).add("seq", message.execution.seq).done();
  return BodyWriter(3)
      .add("execution", std::move(execution))
      .add("policy", message.policy)
      .add("narrowings", Array(message.narrowings))
      .done();
}

Result<CallStarted> decode_call_started(const Value& body) {
  Fields fields("call_started", body);
  CallStarted message;
  if (const Value* execution = fields.value("execution"))
    fields.absorb(decode_execution(*execution, message.execution));
  fields.map("policy", message.policy);
  fields.maps("narrowings", message.narrowings);
  return finish(fields, std::move(message));
}

}  // namespace loom
