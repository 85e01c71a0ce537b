#include "wire/call_hook.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CallHook& message) {
  return BodyWriter(5)
      .add("call", message.call)
      .add("kind", message.kind)
      .add("name", message.name)
      .add("args", message.args)
      .add("deadline_ms", message.deadline_ms)
      .done();
}

Result<CallHook> decode_call_hook(const Value& body) {
  Fields fields("call_hook", body);
  CallHook message;
  fields.count("call", message.call);
  fields.one_of("kind", message.kind, {"tool", "event"});
  fields.text("name", message.name);
  fields.any("args", message.args);
  fields.count("deadline_ms", message.deadline_ms, {0, kMaxMilliseconds});
  return finish(fields, std::move(message));
}

}  // namespace loom
