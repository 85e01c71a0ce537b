// The optional `tty: {rows, cols}` of exec_start and clear_call.
#pragma once

#include "base/result.h"
#include "base/value.h"
#include "wire/exec_start.h"
#include "wire/fields.h"

namespace loom {

[[nodiscard]] Value encode_tty_size(const TtySize& size);
// Reads the key `tty` of a body that has it.
[[nodiscard]] Status read_tty_size(Fields& outer, TtySize& size);

}  // namespace loom
