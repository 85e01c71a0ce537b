#include "policy/punycode.h"

#include <cstdint>

namespace loom {

namespace {

constexpr std::uint32_t kBase = 36;
constexpr std::uint32_t kTMin = 1;
constexpr std::uint32_t kTMax = 26;
constexpr std::uint32_t kSkew = 38;
constexpr std::uint32_t kDamp = 700;
constexpr std::uint32_t kInitialBias = 72;
constexpr std::uint32_t kFirstNonBasic = 0x80;
constexpr std::uint32_t kLastCodePoint = 0x10ffff;

std::uint32_t digit_of(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a');
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 26;
  return kBase;
}

std::uint32_t adapt(std::uint32_t delta, std::uint32_t points, bool first) {
  delta = first ? delta / kDamp : delta / 2;
  delta += delta / points;
  std::uint32_t k = 0;
  for (; delta > ((kBase - kTMin) * kTMax) / 2; k += kBase) delta /= kBase - kTMin;
  return k + (kBase - kTMin + 1) * delta / (delta + kSkew);
}

// One variable-length integer from the front of `rest`; false when it is cut short, has a foreign digit or is absurdly
// large.
bool take_delta(std::string_view& rest, std::uint32_t bias, std::uint64_t& delta) {
  std::uint64_t weight = 1;
  delta = 0;
  for (std::uint32_t k = kBase;; k += kBase) {
    if (rest.empty()) return false;
    const std::uint32_t digit = digit_of(rest.front());
    rest.remove_prefix(1);
    if (digit >= kBase) return false;
    delta += digit * weight;
    const std::uint32_t threshold = k <= bias ? kTMin : (k >= bias + kTMax ? kTMax : k - bias);
    if (digit < threshold) return true;
    weight *= kBase - threshold;
    if (delta > UINT32_MAX || weight > UINT32_MAX) return false;
  }
}

}  // namespace

bool is_punycode(std::string_view encoded) {
  const std::size_t delimiter = encoded.rfind('-');
  std::uint64_t points = delimiter == std::string_view::npos ? 0 : delimiter;
  std::string_view rest = delimiter == std::string_view::npos ? encoded : encoded.substr(delimiter + 1);
  if (rest.empty()) return false;  // nothing beyond ASCII
  std::uint64_t code = kFirstNonBasic;
  std::uint64_t position = 0;
  std::uint32_t bias = kInitialBias;
  for (bool first = true; !rest.empty(); first = false) {
    std::uint64_t delta = 0;
    if (!take_delta(rest, bias, delta) || delta > UINT32_MAX) return false;
    ++points;
    bias = adapt(static_cast<std::uint32_t>(delta), static_cast<std::uint32_t>(points), first);
    position += delta;
    code += position / points;
    position = position % points + 1;
    if (code > kLastCodePoint || (code >= 0xd800 && code <= 0xdfff)) return false;
  }
  return true;
}

}  // namespace loom
