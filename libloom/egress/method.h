// The methods a request may have: exact tokens of a fixed set (spec/egress.md "Policy"). Pure.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace loom::egress {

enum class Method { kGet, kHead, kPost, kPut, kPatch, kDelete };
inline constexpr std::array<std::string_view, 6> kMethodNames = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

[[nodiscard]] constexpr std::string_view render_method(Method method) {
  return kMethodNames[static_cast<std::size_t>(method)];
}
[[nodiscard]] constexpr std::optional<Method> parse_method(std::string_view text) {
  for (std::size_t i = 0; i < kMethodNames.size(); ++i) {
    if (kMethodNames[i] == text) return static_cast<Method>(i);
  }
  return std::nullopt;
}

}  // namespace loom::egress
