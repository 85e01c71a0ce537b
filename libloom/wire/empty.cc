#include "wire/empty.h"

#include "wire/fields.h"

namespace loom {

Value encode_empty() {
  return Value(Map{});
}

Status decode_empty(Kind kind, const Value& body) {
  return Fields(to_text(kind), body).finish();
}

}  // namespace loom
