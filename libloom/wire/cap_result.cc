#include "wire/cap_result.h"

#include "wire/fields.h"

namespace loom {

Value encode(const CapResult& message) {
  BodyWriter body(3);
  write_outcome(body, message.outcome);
  if (message.usage) body.add("usage", *message.usage);
  return body.done();
}

Result<CapResult> decode_cap_result(const Value& body) {
  Fields fields("cap_result", body);
  CapResult message;
  read_outcome(fields, message.outcome);
  if (fields.has("usage")) fields.map("usage", message.usage.emplace());
  return finish(fields, std::move(message));
}

}  // namespace loom
