#include "egress/judge.h"

#include <algorithm>

#include "egress/headers.h"

namespace loom::egress {

namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// How far an entry came, so that of several the nearest is named.
struct Trial {
  int passed = 0;  // questions answered with yes, in the order of the tuple
  std::optional<Failure> failure;
};

Failure not_allowed(RuleKind kind, std::size_t entry) {
  return Failure{NotAllowed{Rule{kind, entry}}, Stage::kPolicy};
}

Trial try_entry(const OriginEntry& entry, std::size_t index, const Tuple& tuple, Method method) {
  const bool prefix = std::any_of(entry.path_prefixes.begin(), entry.path_prefixes.end(),
                                  [&](const std::string& p) { return tuple.path.compare(0, p.size(), p) == 0; });
  if (!prefix) return {1, not_allowed(RuleKind::kPathPrefixes, index)};
  if (std::find(entry.methods.begin(), entry.methods.end(), method) == entry.methods.end())
    return {2, Failure{MethodNotAllowed{Rule{RuleKind::kMethods, index}}, Stage::kPolicy}};
  if (tuple.credential && !contains(entry.secrets, *tuple.credential))
    return {3, not_allowed(RuleKind::kSecrets, index)};
  for (const std::string& name : tuple.header_names) {
    if (!contains(entry.headers, lower_ascii(name)))
      return {4, Failure{HeaderRefused{name, HeaderFault::kNotListed}, Stage::kPolicy}};
  }
  return {5, std::nullopt};
}

}  // namespace

bool is_ambiguous_path(std::string_view path) {
  const std::string lower = lower_ascii(path);
  for (const std::string_view escape : {"%2e", "%2f", "%5c", "\\"}) {
    if (lower.find(escape) != std::string::npos) return true;
  }
  for (std::size_t begin = 0; begin <= lower.size();) {
    const std::size_t end = std::min(lower.find('/', begin), lower.size());
    const std::string_view segment = std::string_view(lower).substr(begin, end - begin);
    const std::string_view name = segment.substr(0, segment.find(';'));  // "..;x" is ".." to some servers
    if (name == "." || name == "..") return true;
    begin = end + 1;
  }
  return false;
}

Outcome<Admission> judge_tuple(const EgressPolicy& policy, const Tuple& tuple) {
  if (tuple.origin.scheme != Scheme::kHttps)
    return refuse(NotAllowed{Rule{RuleKind::kScheme, std::nullopt}}, Stage::kPolicy);
  if (is_ambiguous_path(tuple.path)) return refuse(NotAllowed{Rule{RuleKind::kPathForm, std::nullopt}}, Stage::kPolicy);
  const auto method = parse_method(tuple.method);
  if (!method) return refuse(MethodNotAllowed{Rule{RuleKind::kMethodSet, std::nullopt}}, Stage::kPolicy);
  Trial best{0, Failure{NotAllowed{Rule{RuleKind::kOrigins, std::nullopt}}, Stage::kPolicy}};
  for (std::size_t i = 0; i < policy.origins.size(); ++i) {
    if (policy.origins[i].origin != tuple.origin) continue;
    Trial trial = try_entry(policy.origins[i], i, tuple, *method);
    if (!trial.failure) return Admission{i, *method};
    if (trial.passed > best.passed) best = std::move(trial);
  }
  return refuse(std::move(*best.failure));
}

Outcome<void> judge_reserved(const EgressPolicy& policy, const std::vector<HeaderField>& headers) {
  for (const HeaderField& header : headers) {
    if (is_reserved_header(header.name) || policy.binds_header(lower_ascii(header.name)))
      return refuse(HeaderRefused{header.name.substr(0, 64), HeaderFault::kReserved}, Stage::kRequest);
  }
  return {};
}

Outcome<void> judge_size(const EgressPolicy& policy, const std::string& body) {
  if (body.size() <= policy.request_bytes) return {};
  return refuse(BadRequest{"/body", "the body is over " + std::to_string(policy.request_bytes) + " bytes", true},
                Stage::kRequest);
}

Outcome<Judged> judge_request(const EgressPolicy& policy, Request request, const std::vector<Listener>& own) {
  if (auto sized = judge_size(policy, request.body); !sized) return refuse(std::move(sized).error());
  if (auto reserved = judge_reserved(policy, request.headers); !reserved) return refuse(std::move(reserved).error());
  Tuple tuple{request.url.origin, request.url.path, request.method, request.credential, {}};
  for (const HeaderField& header : request.headers) tuple.header_names.push_back(header.name);
  const auto admission = judge_tuple(policy, tuple);
  if (!admission) return refuse(admission.error());
  if (const auto address = address_of(request.url.origin.host)) {
    if (const auto bad = judge_address(*address, request.url.origin.port, AddressRules{policy.ip_allow, own}))
      return refuse(AddressRefused{bad->address, bad->why}, Stage::kPolicy);
  }
  Judged judged;
  judged.url = std::move(request.url);
  judged.method = admission->method;
  judged.headers = std::move(request.headers);
  judged.body = std::move(request.body);
  judged.has_body = request.has_body;
  judged.credential = std::move(request.credential);
  judged.entry = admission->entry;
  return judged;
}

}  // namespace loom::egress
