// Generators that the properties of the wire share.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/value.h"

namespace loom::test {

[[nodiscard]] std::string gen_bytes();
[[nodiscard]] std::string gen_text();
[[nodiscard]] std::string gen_path();     // any bytes but NUL
[[nodiscard]] std::uint64_t gen_count();  // of every magnitude
// Any value but a NaN, at most `depth` levels of containers.
[[nodiscard]] Value gen_value(int depth);
[[nodiscard]] Value gen_map(int depth);

template <class Make>
[[nodiscard]] auto gen_list(int most, Make make) {
  std::vector<decltype(make())> list;
  for (int i = *rc::gen::inRange(0, most + 1); i > 0; --i) list.push_back(make());
  return list;
}

}  // namespace loom::test
