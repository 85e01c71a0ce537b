#include "egress/door.h"

#include <algorithm>

namespace loom::egress {

namespace {

constexpr std::size_t kAroundBody = 64U << 10U;

Failure not_allowed(RuleKind kind) {
  return Failure{NotAllowed{Rule{kind, std::nullopt}}, Stage::kPolicy};
}

bool may_request(const std::vector<Grant>& grants) {
  return std::any_of(grants.begin(), grants.end(), [](const Grant& grant) { return !grant.blobs_only(); });
}

Failure oversized(std::size_t limit) {
  return Failure{BadRequest{"", "the call is over " + std::to_string(limit) + " bytes", true}, Stage::kRequest};
}

// Up to the host: what the bytes say.
Outcome<Request> read_call(const EgressPolicy& policy, std::string_view document) {
  const std::size_t limit = document_limit(policy);
  if (document.size() > limit) return refuse(oversized(limit));
  auto draft = decode_draft(document, limit);
  if (!draft) return refuse(std::move(draft).error());
  if (auto sized = judge_size(policy, draft->request.body); !sized) return refuse(std::move(sized).error());
  if (auto reserved = judge_reserved(policy, draft->request.headers); !reserved)
    return refuse(std::move(reserved).error());
  return with_url(std::move(*draft));
}

// What the caller may do with what the policy admits.
Outcome<void> judge_caller(const DoorRules& rules, const std::vector<Grant>& grants,
                           const std::optional<std::string>& principal, Judged& judged) {
  const Wanted wanted{judged.method, judged.credential, judged.url.origin.host, std::nullopt};
  if (auto given = judge_grants(grants, wanted, principal); !given) return given;
  judged.granted_methods = granted_methods(grants, wanted);
  if (!judged.credential) return {};
  const auto secret = read_secret(*rules.policy->find_secret(*judged.credential), rules.env);
  if (!secret) return refuse(secret.error());
  return {};
}

}  // namespace

std::size_t document_limit(const EgressPolicy& policy) {
  return kAroundBody + 2 * static_cast<std::size_t>(policy.request_bytes);
}

CallVerdict judge_call(const DoorRules& rules, const std::vector<Grant>& grants, CallBudget& budget,
                       const std::optional<std::string>& principal, std::string_view document) {
  const bool paid = budget.spend();
  const auto refused = [](Failure failure, std::string destination = "") {
    return CallVerdict{refuse(std::move(failure)), std::move(destination)};
  };
  if (!may_request(grants)) return refused(not_allowed(RuleKind::kGrant));
  auto request = read_call(*rules.policy, document);
  if (!request) return refused(std::move(request).error());
  const std::string destination = render_host_port(request->url.origin.host, request->url.origin.port);
  if (!paid) return refused(not_allowed(RuleKind::kCalls), destination);
  auto judged = judge_request(*rules.policy, std::move(*request), rules.own);
  if (!judged) return refused(std::move(judged).error(), destination);
  if (auto caller = judge_caller(rules, grants, principal, *judged); !caller)
    return refused(std::move(caller).error(), destination);
  return CallVerdict{std::move(judged), destination};
}

Failure refuse_oversized(const EgressPolicy& policy, const std::vector<Grant>& grants, CallBudget& budget) {
  (void)budget.spend();
  return may_request(grants) ? oversized(document_limit(policy)) : not_allowed(RuleKind::kGrant);
}

int door_status(const Failure& failure) {
  struct Statuses {
    int operator()(const BadRequest& c) const { return c.too_large ? 413 : 400; }
    int operator()(const HostSyntax&) const { return 400; }
    int operator()(const NotAllowed&) const { return 403; }
    int operator()(const MethodNotAllowed&) const { return 403; }
    int operator()(const AddressRefused&) const { return 403; }
    int operator()(const SecretMissing&) const { return 403; }
    int operator()(const HeaderRefused& c) const {
      return c.why == HeaderFault::kReserved || c.why == HeaderFault::kNotListed ? 403 : 400;
    }
    int operator()(const DnsFailed&) const { return 502; }
    int operator()(const ConnectFailed&) const { return 502; }
    int operator()(const TlsFailed&) const { return 502; }
    int operator()(const RedirectRefused&) const { return 502; }
    int operator()(const ResponseTooLarge&) const { return 502; }
    int operator()(const DeadlinePassed&) const { return 502; }
    int operator()(const UpstreamFailed&) const { return 502; }
  };
  const int status = std::visit(Statuses{}, failure.cause);
  return status == 400 && failure.stage == Stage::kSecret ? 403 : status;  // the header that we would have set
}

Map render_door_body(const Failure& failure) {
  Map body = {{"error", failure_message(failure)}};
  for (Member& member : render_failure(failure)) {
    if (member.first != "message" && member.first != "hint") body.push_back(std::move(member));
  }
  return body;
}

}  // namespace loom::egress
