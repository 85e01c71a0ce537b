#include "wire/tty_size.h"

namespace loom {

Value encode_tty_size(const TtySize& size) {
  return BodyWriter(2).add("rows", size.rows).add("cols", size.cols).done();
}

Status read_tty_size(Fields& outer, TtySize& size) {
  const Value* const body = outer.value("tty");
  if (body == nullptr) return {};  // noted in `outer`
  Fields fields(outer.place_of("tty"), *body, outer.code());
  fields.window("rows", size.rows);
  fields.window("cols", size.cols);
  return fields.finish();
}

}  // namespace loom
