// A secret's value: read at request time, in one place, moved and never copied, wiped when it goes (spec/egress.md
// "Secrets"). It converts to nothing and prints as nothing. Pure but for the lookup that is handed in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "egress/failure.h"
#include "egress/policy_document.h"
#include "egress/reflection.h"

namespace loom::egress {

class Secret {
 public:
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();
  // For the one place that writes it to the wire, and for the search of reflections. Borrowed.
  [[nodiscard]] std::string_view reveal() const { return value_; }
  [[nodiscard]] Reflection reflection() const { return Reflection(value_); }

 private:
  std::string value_;
};

using EnvLookup = std::function<std::optional<std::string>(const std::string& name)>;

// Failures, at the stage secret: secret_missing (not set, or empty), header_refused (a value that no header may hold:
// a newline, a control).
[[nodiscard]] Outcome<Secret> read_secret(const SecretBinding& binding, const EnvLookup& env);

}  // namespace loom::egress
