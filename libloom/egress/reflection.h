// What an upstream sends back of a secret that rode to it (spec/egress.md "Secrets"): replaced in text, refused in what
// is binary. Found as it is, with any of its bytes percent-escaped or JSON-escaped, and within base64 of either
// alphabet at any alignment. A secret under 8 bytes is not looked for. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace loom::egress {

class Reflection {
 public:
  Reflection() = default;
  explicit Reflection(std::string_view secret);
  Reflection(Reflection&& other) noexcept;
  Reflection& operator=(Reflection&& other) noexcept;
  Reflection(const Reflection&) = delete;
  Reflection& operator=(const Reflection&) = delete;
  ~Reflection();

  // Whether there is anything to look for.
  [[nodiscard]] bool looks() const { return !secret_.empty(); }
  [[nodiscard]] bool found_in(std::string_view bytes) const;
  // The text with every occurrence replaced by "[secret]".
  [[nodiscard]] std::string scrub(std::string_view text) const;

 private:
  struct Match {
    std::size_t at = 0;
    std::size_t length = 0;  // 0: none
  };
  [[nodiscard]] Match find(std::string_view text, std::size_t from) const;
  void forget();

  std::string secret_;
  std::array<bool, 256> begins_{};   // the bytes that a spelling of the secret can begin with
  std::vector<std::string> base64_;  // what stays the same of its base64 at each of the three alignments
};

}  // namespace loom::egress
