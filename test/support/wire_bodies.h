// Every kind's codec behind one function, and bodies of every kind: for tests that iterate the kinds, for the fuzzer
// and for the peers that print frames. The switches have no default: a new kind does not compile until it is here.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "wire/kinds.h"

namespace loom::test {

// decode, then encode: the body as this build would have written it. `channel` tells the two hellos apart.
[[nodiscard]] Result<Value> recode(Channel channel, Kind kind, const Value& body);

// Sound bodies: the first has every optional key, the last none.
[[nodiscard]] std::vector<Value> sample_bodies(Channel channel, Kind kind);

// All kinds, in the order of the enumeration.
[[nodiscard]] std::vector<Kind> all_kinds();

// The file that holds a kind's codec, without its suffix ("exec_start").
[[nodiscard]] std::string codec_of(Channel channel, Kind kind);

}  // namespace loom::test
