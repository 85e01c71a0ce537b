#include "broker/vault.h"

#include <utility>

#include "base/hash.h"

namespace loom::broker {

std::string_view to_text(TokenVerdict verdict) {
  switch (verdict) {
    case TokenVerdict::kValid:
      return "valid";
    case TokenVerdict::kUnknown:
      return "unknown";
    case TokenVerdict::kRevoked:
      return "revoked";
    case TokenVerdict::kExpired:
      return "expired";
    case TokenVerdict::kWrongBinding:
      return "wrong_binding";
  }
  return "unknown";
}

const Vault::Entry* Vault::find(std::string_view token) const {
  const std::string digest = sha256_hex(token);
  const Entry* found = nullptr;
  // No early exit: where a match stands must not show in the time.
  for (const auto& [id, entry] : entries_) {
    if (equal_constant_time(entry.digest, digest)) found = &entry;
  }
  return found;
}

std::optional<TokenId> Vault::mint(std::string_view token, TokenBinding binding) {
  if (token.size() != kTokenBytes || find(token) != nullptr) return std::nullopt;
  const TokenId id = next_++;
  entries_.emplace(id, Entry{sha256_hex(token), std::move(binding), false});
  return id;
}

TokenVerdict Vault::present(std::string_view token, const TokenBinding& binding, TimePoint now) const {
  const Entry* entry = find(token);
  if (entry == nullptr) return TokenVerdict::kUnknown;
  if (entry->revoked) return TokenVerdict::kRevoked;
  if (entry->binding.deadline && *entry->binding.deadline <= now) return TokenVerdict::kExpired;
  const bool bound = entry->binding.step == binding.step && entry->binding.policy_digest == binding.policy_digest;
  return bound ? TokenVerdict::kValid : TokenVerdict::kWrongBinding;
}

void Vault::revoke(TokenId id) {
  if (const auto at = entries_.find(id); at != entries_.end()) at->second.revoked = true;
}
void Vault::revoke_op(std::string_view op_id) {
  for (auto& [id, entry] : entries_) {
    if (entry.binding.step.op_id == op_id) entry.revoked = true;
  }
}
void Vault::revoke_step(const StepKey& key) {
  for (auto& [id, entry] : entries_) {
    if (entry.binding.step == key) entry.revoked = true;
  }
}
void Vault::settle(TokenId id) {
  entries_.erase(id);
}

}  // namespace loom::broker
