#include "egress/proxy_target.h"

#include "egress/failure.h"
#include "egress/url.h"

namespace loom::egress {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::uint16_t kHttpPort = 80;
constexpr std::string_view kReadyPath = "/ready";

ProxyRefusal refusal_of(const Failure& failure) {
  return {std::string(failure_code(failure)), "", failure_message(failure)};
}

// host:port cut at the last colon, whatever they are worth.
Asked asked_of(Front front, std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos) return {front, std::string(authority), ""};
  return {front, std::string(authority.substr(0, colon)), std::string(authority.substr(colon + 1))};
}
Asked asked_of(Front front, const Host& host, std::uint16_t port) {
  return {front, host.kind == HostKind::kIpv6 ? "[" + host.text + "]" : host.text, std::to_string(port)};
}

RefusedTarget bad_request(Asked asked, std::string what) {
  return {{"bad_request", "", std::move(what)}, std::move(asked)};
}

// The one question about policy that every front asks.
JudgedTarget judge(Front front, const Host& host, std::uint16_t port, const ProxyRules& rules) {
  const EntryScheme scheme = front == Front::kForward ? EntryScheme::kHttp : EntryScheme::kTls;
  const Entry* entry = rules.allow.admits(scheme, host, port);
  if (entry == nullptr) {
    const char* what = rules.allow.empty() ? "the allow list is empty" : "no entry of the allow list admits it";
    return RefusedTarget{{"not_allowed", "allow", what}, asked_of(front, host, port)};
  }
  ProxyTarget target;
  target.front = front;
  target.host = host;
  target.port = port;
  target.rule = render_entry(*entry);
  return target;
}

// Whether a Host header names what the target does. Without a port it means http's own; beside a CONNECT it names the
// host alone.
bool names_same(std::string_view header, Front front, const Host& host, std::uint16_t port) {
  if (const auto whole = parse_host_port(header)) return whole->host == host && whole->port == port;
  const auto alone = parse_host(header);
  return alone && *alone == host && (front == Front::kConnect || port == kHttpPort);
}

std::optional<RefusedTarget> judge_host_header(const HttpHead& head, const Asked& asked, const Host& host,
                                               std::uint16_t port) {
  const std::string* header = head.header("host");
  if (header == nullptr) {
    if (asked.front == Front::kConnect || head.minor == 0) return std::nullopt;
    return bad_request(asked, "HTTP/1.1 without a Host header");
  }
  if (names_same(*header, asked.front, host, port)) return std::nullopt;
  return RefusedTarget{{"host_differs", "host_header", "the Host header names another host"}, asked};
}

JudgedTarget judge_connect(const HttpHead& head, const ProxyRules& rules) {
  Asked asked = asked_of(Front::kConnect, head.target);
  if (head.body == BodyKind::kChunked || head.length > 0) return bad_request(asked, "a CONNECT with a body");
  const auto target = parse_host_port(head.target);
  if (!target) return RefusedTarget{refusal_of(target.error()), std::move(asked)};
  if (auto refused = judge_host_header(head, asked, target->host, target->port)) return *std::move(refused);
  return judge(Front::kConnect, target->host, target->port, rules);
}

JudgedTarget judge_forward(const HttpHead& head, const ProxyRules& rules) {
  const std::string_view rest = std::string_view(head.target).substr(kHttp.size());
  Asked asked = asked_of(Front::kForward, rest.substr(0, rest.find_first_of("/?")));
  const auto url = parse_url(head.target, Schemes::kHttpsAndHttp);
  if (!url) return RefusedTarget{refusal_of(url.error()), std::move(asked)};
  const Origin& origin = url->origin;
  asked = asked_of(Front::kForward, origin.host, origin.port);
  if (auto refused = judge_host_header(head, asked, origin.host, origin.port)) return *std::move(refused);
  if (origin.host.text == kOwnName && origin.port == kHttpPort && url->target() == kReadyPath && head.method == "GET")
    return ReadyQuestion{};
  JudgedTarget judged = judge(Front::kForward, origin.host, origin.port, rules);
  if (auto* target = std::get_if<ProxyTarget>(&judged)) {
    target->forward_head = render_forward_head(head, *url);
    target->body = BodyGate(head);
  }
  return judged;
}

}  // namespace

JudgedTarget judge_http_target(std::string_view raw_head, const ProxyRules& rules) {
  const auto head = parse_http_head(raw_head);
  if (!head) return bad_request({}, head.error().what);
  if (head->method == "CONNECT") return judge_connect(*head, rules);
  const std::string_view scheme = std::string_view(head->target).substr(0, kHttp.size());
  if (same_token(scheme, kHttp)) return judge_forward(*head, rules);
  return bad_request({}, "the proxy takes CONNECT host:port, and requests whose target is a whole http:// URL");
}

JudgedTarget judge_socks_target(const SocksRequest& request, const ProxyRules& rules) {
  Asked asked{Front::kSocks, request.host, std::to_string(request.port)};
  const auto host = parse_host(request.host);
  if (!host) return RefusedTarget{{host.error().code, "", host.error().what}, std::move(asked)};
  const auto port = parse_port(asked.port);
  if (!port) return RefusedTarget{{port.error().code, "", port.error().what}, std::move(asked)};
  return judge(Front::kSocks, *host, *port, rules);
}

std::optional<ProxyRefusal> judge_addresses(std::uint16_t port, const std::vector<Address>& answers,
                                            const AddressRules& rules) {
  const AddressVerdict verdict = judge_answers(answers, port, rules);
  if (!verdict) return std::nullopt;
  const std::string why(render_fault(verdict->why));
  const std::string what = "the address " + render_address(verdict->address) + " may not be connected to";
  const bool listable = verdict->why != AddressFault::kOwnListener;
  return ProxyRefusal{"address_refused", why, what + (listable ? ": ip_allow does not list it" : "")};
}

}  // namespace loom::egress
