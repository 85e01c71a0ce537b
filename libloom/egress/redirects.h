// Redirects, judged and never followed by the client library (spec/egress.md "Redirects"): only under same_host, inside
// the first origin, at most n times, each hop a new request that the one judge admits whole. A chain cannot leave its
// origin, so that nothing can come back to it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "egress/judge.h"
#include "egress/reflection.h"

namespace loom::egress {

// 301, 302, 303, 307 and 308.
[[nodiscard]] bool is_redirect(int status);

struct HopAnswer {
  int status = 0;
  std::vector<std::string> locations;  // the values of every Location header
};

// The next request of the chain, or nothing: the answer is the last one and is handed back (no redirect, no Location,
// or a policy that follows none). `hops` counts the redirects followed so far. 303, and 301 or 302 after POST, becomes
// a GET without a body (HEAD stays HEAD); others keep both. Failure, at the stage redirect: redirect_refused.
[[nodiscard]] Outcome<std::optional<Judged>> judge_redirect(const EgressPolicy& policy, const Judged& current,
                                                            unsigned hops, const HopAnswer& answer,
                                                            const Reflection& secrets);

}  // namespace loom::egress
