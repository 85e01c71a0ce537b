// Capability tokens: 32 random bytes bound to one execution. Pure: the entropy is passed in.
// The vault keeps a token's SHA-256 only, so that nothing in the broker holds the token once its exec_start was
// written. An entry lives as long as its execution; a swept one answers revoked until then.
// Carries out: spec/broker.md "Budgets, tokens, sweeps" (Token).
//
//   event     no entry                      live entry                   revoked entry
//   mint      entry (32 bytes), or refused  refused: the same bytes      refused
//   present   unknown                       valid, expired, wrong        revoked
//                                           binding: in that order
//   revoke    nothing                       revoked                      nothing
//   settle    nothing                       gone: unknown from now on    gone
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "broker/budget.h"

namespace loom::broker {

inline constexpr std::size_t kTokenBytes = 32;

struct TokenBinding {
  StepKey step;
  std::string policy_digest;
  std::optional<TimePoint> deadline;
  friend bool operator==(const TokenBinding&, const TokenBinding&) = default;
};

using TokenId = std::uint64_t;  // names an entry without being able to present it; never used twice

enum class TokenVerdict { kValid, kUnknown, kRevoked, kExpired, kWrongBinding };
[[nodiscard]] std::string_view to_text(TokenVerdict verdict);

class Vault {
 public:
  // Nothing: not 32 bytes, or bytes that are already there.
  [[nodiscard]] std::optional<TokenId> mint(std::string_view token, TokenBinding binding);
  // Every entry is compared, in constant time each. `binding`'s deadline is not asked: the entry's own counts.
  [[nodiscard]] TokenVerdict present(std::string_view token, const TokenBinding& binding, TimePoint now) const;
  void revoke(TokenId id);
  void revoke_op(std::string_view op_id);
  void revoke_step(const StepKey& key);
  void settle(TokenId id);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string digest;
    TokenBinding binding;
    bool revoked = false;
  };
  [[nodiscard]] const Entry* find(std::string_view token) const;

  std::map<TokenId, Entry> entries_;
  TokenId next_ = 1;
};

}  // namespace loom::broker
