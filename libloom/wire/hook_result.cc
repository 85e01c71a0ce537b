#include "wire/hook_result.h"

#include "wire/fields.h"

namespace loom {

Value encode(const HookResult& message) {
  BodyWriter body(2);
  write_outcome(body, message.outcome);
  return body.done();
}

Result<HookResult> decode_hook_result(const Value& body) {
  Fields fields("hook_result", body);
  HookResult message;
  read_outcome(fields, message.outcome);
  return finish(fields, std::move(message));
}

}  // namespace loom
