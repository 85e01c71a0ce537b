// One call at the capability endpoint, from its bytes to a request that may go out (spec/egress.md "Order of
// judgement"): grant, size, JSON, header syntax, reserved header, host, call budget, the tuple, the address, method
// grant, principal, credential and its host, secret present. The first failure wins; the token was judged before. Pure
// but for the lookup of the secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/grants.h"
#include "egress/judge.h"
#include "egress/secrets.h"

namespace loom::egress {

struct DoorRules {
  const EgressPolicy* policy = nullptr;
  std::vector<Listener> own;
  EnvLookup env;
};

struct CallVerdict {
  Outcome<Judged> outcome;
  std::string destination;  // "api.test:443"; "" when it did not come so far
};

// How large the document of a call may be: it holds a body of request_bytes as base64, or as text with some escapes.
[[nodiscard]] std::size_t document_limit(const EgressPolicy& policy);

// Spends one call of the budget, whatever the verdict. `grants` are those of the caller, `principal` that of its run.
[[nodiscard]] CallVerdict judge_call(const DoorRules& rules, const std::vector<Grant>& grants, CallBudget& budget,
                                     const std::optional<std::string>& principal, std::string_view document);

// What a call meets whose announced size is over document_limit: its bytes are not waited for. Spends one call, too.
[[nodiscard]] Failure refuse_oversized(const EgressPolicy& policy, const std::vector<Grant>& grants,
                                       CallBudget& budget);

// The status of the endpoint's answer to a failure: 400 malformed, 403 policy, 413 size, 502 upstream.
[[nodiscard]] int door_status(const Failure& failure);
// {error, code, stage} and the fields of the cause: the body of that answer.
[[nodiscard]] Map render_door_body(const Failure& failure);

}  // namespace loom::egress
