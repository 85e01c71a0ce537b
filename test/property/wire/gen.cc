#include "test/property/wire/gen.h"

#include <algorithm>

namespace loom::test {

std::string gen_bytes() {
  const auto raw = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  return std::string(raw.begin(), raw.end());
}

std::string gen_text() {
  std::string text = gen_bytes();
  while (!is_utf8(text)) text.pop_back();
  return text;
}

std::string gen_path() {
  std::string path = gen_bytes();
  std::replace(path.begin(), path.end(), '\0', 'n');
  return path;
}

std::uint64_t gen_count() {
  const auto shift = static_cast<unsigned>(*rc::gen::inRange(0, 64));
  return *rc::gen::arbitrary<std::uint64_t>() >> shift;
}

Value gen_map(int depth) {
  Map map;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i)
    map.emplace_back(gen_text() + std::to_string(i), gen_value(depth - 1));
  return Value(std::move(map));
}

Value gen_value(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 9 : 7)) {
    case 0:
      return Value();
    case 1:
      return Value(*rc::gen::arbitrary<bool>());
    case 2:
      return Value(gen_count());
    case 3:
      return Value(-static_cast<std::int64_t>(gen_count() >> 1U) - 1);
    case 4:
      return Value(static_cast<double>(*rc::gen::arbitrary<std::int32_t>()) / 3.0);
    case 5:
      return Value(gen_text());
    case 6:
      return Value(Binary{gen_bytes()});
    case 7:
      return Value(Array(gen_list(4, [depth] { return gen_value(depth - 1); })));
    default:
      return gen_map(depth);
  }
}

}  // namespace loom::test
