#include "egress/redirects.h"

#include <algorithm>
#include <string_view>

namespace loom::egress {

namespace {

tl::unexpected<Failure> refused(std::string to, RedirectFault why) {
  return refuse(RedirectRefused{std::move(to), why}, Stage::kRedirect);
}

// Where it would have led, without path and query, and without a secret that the upstream wrote into the host.
std::string shown(const Url& target, const Reflection& secrets) {
  return secrets.scrub(render_origin(target.origin));
}

bool becomes_get(int status, Method method) {
  if (status == 303) return method != Method::kGet && method != Method::kHead;
  return (status == 301 || status == 302) && method == Method::kPost;
}

void drop_body(Judged& request) {
  request.method = Method::kGet;
  request.body.clear();
  request.has_body = false;
  const auto describes_body = [](const HeaderField& header) {
    return lower_ascii(header.name).substr(0, 8) == "content-";
  };
  request.headers.erase(std::remove_if(request.headers.begin(), request.headers.end(), describes_body),
                        request.headers.end());
}

Outcome<Url> target_of(const Judged& current, const HopAnswer& answer) {
  if (answer.locations.size() > 1) return refused("", RedirectFault::kSeveralLocations);
  auto target = resolve_reference(current.url, answer.locations.front(), Schemes::kHttpsAndHttp);
  if (!target) return refused("", RedirectFault::kSyntax);
  return target;
}

}  // namespace

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Outcome<std::optional<Judged>> judge_redirect(const EgressPolicy& policy, const Judged& current, unsigned hops,
                                              const HopAnswer& answer, const Reflection& secrets) {
  if (!is_redirect(answer.status) || answer.locations.empty() || policy.same_host_redirects == 0) return std::nullopt;
  const auto target = target_of(current, answer);
  if (!target) return refuse(target.error());
  const std::string to = shown(*target, secrets);
  if (target->origin != current.url.origin) return refused(to, RedirectFault::kOtherOrigin);
  if (hops >= policy.same_host_redirects) return refused(to, RedirectFault::kTooMany);
  Judged next = current;
  next.url = *target;
  if (becomes_get(answer.status, current.method)) drop_body(next);
  Tuple tuple{next.url.origin, next.url.path, std::string(render_method(next.method)), next.credential, {}};
  for (const HeaderField& header : next.headers) tuple.header_names.push_back(header.name);
  const auto admission = judge_tuple(policy, tuple);
  if (!admission) {
    const bool method = std::holds_alternative<MethodNotAllowed>(admission.error().cause);
    return refused(to, method ? RedirectFault::kMethod : RedirectFault::kNotAllowed);
  }
  const auto& granted = next.granted_methods;
  if (granted && std::find(granted->begin(), granted->end(), next.method) == granted->end())
    return refused(to, RedirectFault::kMethod);
  next.entry = admission->entry;
  return std::optional<Judged>(std::move(next));
}

}  // namespace loom::egress
