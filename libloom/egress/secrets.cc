#include "egress/secrets.h"

#include "base/hash.h"
#include "egress/headers.h"

namespace loom::egress {

// A short string is copied by a move: nothing may stay behind.
Secret::Secret(Secret&& other) noexcept {
  value_ = other.value_;
  wipe(other.value_);
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe(value_);
  value_ = other.value_;
  wipe(other.value_);
  return *this;
}

Secret::~Secret() {
  wipe(value_);
}

Outcome<Secret> read_secret(const SecretBinding& binding, const EnvLookup& env) {
  auto value = env(binding.env);
  // Of blanks alone: on the wire that is no value either.
  if (!value || value->find_first_not_of(" \t") == std::string::npos)
    return refuse(SecretMissing{binding.name}, Stage::kSecret);
  Secret secret(*value);
  wipe(*value);
  if (const auto fault = judge_header_value(secret.reveal()))
    return refuse(HeaderRefused{binding.header, *fault}, Stage::kSecret);
  return secret;
}

}  // namespace loom::egress
