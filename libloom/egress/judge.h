// The one judge (spec/egress.md "One judge", "Policy"): one entry of the policy must admit the whole tuple of origin,
// path, method, credential and header names. Every front end asks it, `check` as well, before any lookup. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/failure.h"
#include "egress/method.h"
#include "egress/policy_document.h"
#include "egress/request_document.h"
#include "egress/url.h"

namespace loom::egress {

struct Tuple {
  Origin origin;
  std::string path;
  std::string method;
  std::optional<std::string> credential;
  std::vector<std::string> header_names;  // the caller's, in any case
};

struct Admission {
  std::size_t entry = 0;  // of policy.origins: the rule that admits
  Method method = Method::kGet;
};

// Failures, at the stage policy: not_allowed (scheme, origins, path_form, path_prefixes, secrets), method_not_allowed,
// header_refused. Of several entries the one that comes farthest is named.
[[nodiscard]] Outcome<Admission> judge_tuple(const EgressPolicy& policy, const Tuple& tuple);

// A path that servers may read in two ways: dot segments (also before ';'), %2e, %2f, %5c, a backslash.
[[nodiscard]] bool is_ambiguous_path(std::string_view path);

// A request that was admitted, with everything that a transfer needs but the secret and the addresses.
struct Judged {
  Url url;
  Method method = Method::kGet;
  std::vector<HeaderField> headers;
  std::string body;
  bool has_body = false;
  std::optional<std::string> credential;
  std::size_t entry = 0;
  // What the caller's grants let of methods: a redirect that changes the method is held to it. Nothing: no grant bounds
  // this request.
  std::optional<std::vector<Method>> granted_methods;
};
// The size of the body, reserved headers, the tuple, and the address where the host is one: all that is judged before
// the network. `own` are our listeners.
[[nodiscard]] Outcome<Judged> judge_request(const EgressPolicy& policy, Request request,
                                            const std::vector<Listener>& own = {});

[[nodiscard]] Outcome<void> judge_size(const EgressPolicy& policy, const std::string& body);
// A header of the caller's that belongs to the client or to a bound secret. Failure: header_refused.
[[nodiscard]] Outcome<void> judge_reserved(const EgressPolicy& policy, const std::vector<HeaderField>& headers);

}  // namespace loom::egress
