// The configuration of the capability endpoint and of the proxy: C of spec/egress.md "Documents". `v` and `policy` are
// required; without `grants` nobody may call, without `credentials` none may ride, without `record` nothing is recorded
// (a flag may name the file). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/grants.h"
#include "egress/policy_document.h"

namespace loom::egress {

struct EgressConfig {
  EgressPolicy policy;
  std::vector<Grant> grants;
  std::vector<std::string> credentials;  // keys of policy.secrets: those that grants may give
  std::optional<std::string> record;     // a file; a relative name is relative to the document
  // Those of one caller, in the order of the document.
  [[nodiscard]] std::vector<Grant> grants_of(std::string_view caller) const;
  // Each caller that has a grant, once.
  [[nodiscard]] std::vector<std::string> callers() const;
  friend bool operator==(const EgressConfig&, const EgressConfig&) = default;
};

// Errors: those of policy_document.h (under /policy), bad_grant, unknown_credential (a grant of one that `credentials`
// does not list, or one that policy.secrets does not have), bad_path.
[[nodiscard]] Result<EgressConfig> decode_egress_config(const Value& value);
[[nodiscard]] Result<EgressConfig> decode_egress_config_bytes(std::string_view json);
// Relative names from the folder of the document on.
void anchor(EgressConfig& config, std::string_view folder);

}  // namespace loom::egress
