#include "wire/stop.h"

#include "wire/fields.h"

namespace loom {

Value encode(const Stop& message) {
  BodyWriter body(1);
  if (message.drain_ms) body.add("drain_ms", *message.drain_ms);
  return body.done();
}

Result<Stop> decode_stop(const Value& body) {
  Fields fields("stop", body);
  Stop message;
  if (fields.has("drain_ms")) fields.count("drain_ms", message.drain_ms.emplace(), {0, kMaxMilliseconds});
  return finish(fields, message);
}

}  // namespace loom
