#include "egress/url.h"

#include <algorithm>
#include <optional>

namespace loom::egress {

namespace {

constexpr std::size_t kMaxUrl = 8192;
constexpr std::size_t kMaxShown = 512;

tl::unexpected<Failure> bad_url(std::string what) {
  return refuse(BadRequest{"/url", std::move(what), false}, Stage::kRequest);
}
tl::unexpected<Failure> bad_authority(std::string what) {
  return refuse(HostSyntax{std::move(what)}, Stage::kRequest);
}

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr std::string_view kPathMarks = "-._~!$&'()*+,;=:@/";
constexpr std::string_view kQueryMarks = "-._~!$&'()*+,;=:@/?[]";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool starts_with_scheme(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

std::uint16_t default_port(Scheme scheme) {
  return scheme == Scheme::kHttps ? 443 : 80;
}

// What is wrong with the characters of a path or query; nothing when all may stand there.
std::optional<std::string> fault_of(std::string_view text, std::string_view marks) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_alnum(c) || marks.find(c) != std::string_view::npos) continue;
    if (c == '%') {
      if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return "a % without two hex digits";
      i += 2;
      continue;
    }
    if (c == '#') return "a fragment";
    if (c == '\\') return "a backslash";
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return "a control character";
    if (byte > 0x7f) return "a byte over 0x7f: percent-encode it";
    return "a character that no URL holds as it is: percent-encode it";
  }
  return std::nullopt;
}

struct Authority {
  Host host;
  std::optional<std::uint16_t> port;
};

Outcome<Authority> parse_authority(std::string_view text) {
  if (text.find('@') != std::string_view::npos) return bad_authority("user information before the host");
  const bool bracketed = !text.empty() && text.front() == '[';
  const std::size_t close = bracketed ? text.find(']') : 0;
  if (close == std::string_view::npos) return bad_authority("a bracket that is not closed");
  const std::size_t colon = text.find(':', close);
  if (bracketed && colon != close + 1 && close + 1 != text.size()) return bad_authority("something behind the bracket");
  Authority authority;
  auto host = parse_host(text.substr(0, colon));
  if (!host) return bad_authority(std::move(host).error().what);
  authority.host = std::move(*host);
  if (colon != std::string_view::npos) {
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) return bad_authority(port.error().what);
    authority.port = *port;
  }
  return authority;
}

// Path and query, behind the authority.
Outcome<Url> with_target(Origin origin, std::string_view rest) {
  Url url;
  url.origin = std::move(origin);
  const std::size_t question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  if (const auto fault = fault_of(path, kPathMarks)) return bad_url("the path of the URL has " + *fault);
  if (!path.empty()) url.path = std::string(path);
  if (question != std::string_view::npos) {
    url.has_query = true;
    url.query = std::string(rest.substr(question + 1));
    if (const auto fault = fault_of(url.query, kQueryMarks)) return bad_url("the query of the URL has " + *fault);
  }
  return url;
}

bool has_dot_segment(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    if (segment == "." || segment == "..") return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::string render_host_port(const Host& host, std::uint16_t port) {
  const std::string text = host.kind == HostKind::kIpv6 ? "[" + host.text + "]" : host.text;
  return text + ":" + std::to_string(port);
}

std::string render_origin(const Origin& origin) {
  std::string text = origin.scheme == Scheme::kHttps ? "https://" : "http://";
  std::string host = render_host_port(origin.host, origin.port);
  if (origin.port == default_port(origin.scheme)) host.erase(host.rfind(':'));
  return text + host;
}

std::string render_url(const Url& url) {
  return render_origin(url.origin) + url.target();
}

std::string render_without_values(const Url& url) {
  std::string text = render_origin(url.origin) + url.path;
  if (url.has_query) text += '?';
  for (std::size_t begin = 0; url.has_query && begin < url.query.size();) {
    const std::size_t end = std::min(url.query.find('&', begin), url.query.size());
    const std::string_view pair = std::string_view(url.query).substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos) text += pair.substr(0, equals + 1);  // what has no '=' may be all value
    if (end < url.query.size()) text += '&';
    begin = end + 1;
  }
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown - 3) + "...";
  return text;
}

Outcome<Url> parse_url(std::string_view text, Schemes schemes) {
  if (text.size() > kMaxUrl) return bad_url("the URL is over 8192 bytes");
  Origin origin;
  std::size_t begin = 0;
  if (starts_with_scheme(text, "https://")) {
    begin = 8;
  } else if (starts_with_scheme(text, "http://")) {
    begin = 7;
    origin.scheme = Scheme::kHttp;
  } else {
    return bad_url("a URL begins with https:// here");
  }
  std::size_t end = begin;
  while (end < text.size() && std::string_view("/?#\\").find(text[end]) == std::string_view::npos) ++end;
  if (end < text.size() && text[end] == '\\') return bad_authority("a backslash in the host");
  auto authority = parse_authority(text.substr(begin, end - begin));
  if (!authority) return refuse(std::move(authority).error());
  if (origin.scheme == Scheme::kHttp && schemes == Schemes::kHttpsOnly)
    return refuse(NotAllowed{Rule{RuleKind::kScheme, std::nullopt}}, Stage::kPolicy);
  origin.host = std::move(authority->host);
  origin.port = authority->port.value_or(default_port(origin.scheme));
  return with_target(std::move(origin), text.substr(end));
}

Result<Origin> parse_origin(std::string_view text, Schemes schemes) {
  const std::size_t behind = text.find("://");
  auto url = parse_url(text, schemes);
  if (!url)
    return fail("bad_origin", "", failure_message(url.error()), "an origin is https://HOST or https://HOST:PORT");
  if (text.find_first_of("/?", behind + 3) != std::string_view::npos)
    return fail("bad_origin", "", "something behind the origin", "paths go into path_prefixes");
  return std::move(url->origin);
}

Outcome<HostPort> parse_host_port(std::string_view text) {
  auto authority = parse_authority(text);
  if (!authority) return refuse(std::move(authority).error());
  if (!authority->port) return bad_authority("no port behind the host");
  return HostPort{std::move(authority->host), *authority->port};
}

Outcome<Url> resolve_reference(const Url& base, std::string_view reference, Schemes schemes) {
  if (starts_with_scheme(reference, "https:") || starts_with_scheme(reference, "http:"))
    return parse_url(reference, schemes);
  const std::string scheme = base.origin.scheme == Scheme::kHttps ? "https:" : "http:";
  if (reference.substr(0, 2) == "//") return parse_url(scheme + std::string(reference), schemes);
  const std::string_view path = reference.substr(0, reference.find_first_of("?#"));
  if (path.substr(0, path.find('/')).find(':') != std::string_view::npos) return bad_url("a URL of another scheme");
  std::string target;
  if (path.empty()) {
    const bool keeps_query = reference.empty() && base.has_query;
    target = base.path + (keeps_query ? "?" + base.query : "") + std::string(reference);
  } else if (path.front() == '/') {
    target = std::string(reference);
  } else {
    target = base.path.substr(0, base.path.rfind('/') + 1) + std::string(reference);
  }
  if (has_dot_segment(path)) return bad_url("dot segments");
  if (target.size() > kMaxUrl) return bad_url("the URL is over 8192 bytes");
  return with_target(base.origin, target);
}

}  // namespace loom::egress
