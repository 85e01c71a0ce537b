#include "wire/hook_call.h"

#include "wire/fields.h"

namespace loom {

Value encode(const HookCall& message) {
  return BodyWriter(5)
      .add("token", Binary{message.token})
      .add("kind", message.kind)
      .add("name", message.name)
      .add("args", message.args)
      .add("deadline_ms", message.deadline_ms)
      .done();
}

Result<HookCall> decode_hook_call(const Value& body) {
  Fields fields("hook_call", body);
  HookCall message;
  fields.secret("token", message.token);
  fields.one_of("kind", message.kind, {"tool", "event"});
  fields.text("name", message.name);
  fields.any("args", message.args);
  fields.count("deadline_ms", message.deadline_ms, {0, kMaxMilliseconds});
  return finish(fields, std::move(message));
}

}  // namespace loom
