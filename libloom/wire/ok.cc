#include "wire/ok.h"

#include "wire/fields.h"

namespace loom {

Value encode(const Ok& message) {
  return message.fields;
}

Result<Ok> decode_ok(const Value& body) {
  if (body.get_if<Map>() == nullptr) {
    return fail("malformed_frame", "ok", "wrong type: want map, got " + std::string(body.type_name()));
  }
  return Ok{body};
}

}  // namespace loom
