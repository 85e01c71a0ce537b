// Who may call, with which credentials and methods (spec/egress.md "The capability endpoint"). Grants are the host's
// configuration, never part of a tool's package. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/failure.h"
#include "egress/method.h"
#include "policy/host.h"

namespace loom::egress {

struct GrantedCredential {
  std::string name;
  std::optional<Host> host;  // only to this one
  friend bool operator==(const GrantedCredential&, const GrantedCredential&) = default;
};

// `tool:cred[@host]+cred:METHOD+METHOD`. No methods means GET and HEAD; no credentials and no methods (`tool::`) is a
// token that may only read blobs.
struct Grant {
  std::string caller;
  std::vector<GrantedCredential> credentials;
  std::vector<Method> methods;
  [[nodiscard]] bool blobs_only() const { return methods.empty(); }
  friend bool operator==(const Grant&, const Grant&) = default;
};
// Error: bad_grant.
[[nodiscard]] Result<Grant> parse_grant(std::string_view text);
[[nodiscard]] std::string render_grant(const Grant& grant);

// `name=ENV_VAR` or `name@principal=ENV_VAR`: where a credential's value is read, never the value. Error:
// bad_credential.
struct CredentialSource {
  std::string name;
  std::optional<std::string> principal;  // its owner
  std::string env;
  friend bool operator==(const CredentialSource&, const CredentialSource&) = default;
};
[[nodiscard]] Result<CredentialSource> parse_credential_source(std::string_view text);

// Calls left to one token. Every call of a known token spends one, refused or not.
class CallBudget {
 public:
  static constexpr std::uint32_t kCalls = 64;
  explicit CallBudget(std::uint32_t calls = kCalls) : left_(calls) {}
  // False: nothing was left for this one.
  [[nodiscard]] bool spend() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  [[nodiscard]] std::uint32_t left() const { return left_; }

 private:
  std::uint32_t left_;
};

// What a call asks of its caller's grants; one of them must give all of it.
struct Wanted {
  Method method = Method::kGet;
  std::optional<std::string> credential;
  Host host;
  std::optional<std::string> owner;  // the principal that owns the credential
};
// `principal` is that of the caller's run, if one was bound. Failures, at the stage policy, in this order: not_allowed
// (grant), method_not_allowed (grant/methods), not_allowed (principal), not_allowed (grant/credentials).
[[nodiscard]] Outcome<void> judge_grants(const std::vector<Grant>& grants, const Wanted& wanted,
                                         const std::optional<std::string>& principal);

// The methods of those grants that give this credential (or none) to this host: what any hop of the call may have.
[[nodiscard]] std::vector<Method> granted_methods(const std::vector<Grant>& grants, const Wanted& wanted);

}  // namespace loom::egress
