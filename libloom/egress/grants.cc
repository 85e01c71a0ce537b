#include "egress/grants.h"

#include <algorithm>

#include "egress/document_fields.h"

namespace loom::egress {

namespace {

constexpr std::size_t kMaxGrant = 1024;

tl::unexpected<Error> bad_grant(std::string what, std::string hint = "TOOL:CRED[@HOST]+CRED:METHOD+METHOD") {
  return fail("bad_grant", "", std::move(what), std::move(hint));
}

// The pieces between `separator`, brackets kept whole (an IPv6 address has colons of its own).
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  bool bracket = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') bracket = true;
    if (i < text.size() && text[i] == ']') bracket = false;
    if (i < text.size() && (text[i] != separator || bracket)) continue;
    pieces.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return pieces;
}

Result<GrantedCredential> parse_granted(std::string_view text) {
  GrantedCredential credential;
  const std::size_t at = text.find('@');
  credential.name = std::string(text.substr(0, at));
  if (!fields::is_name(credential.name)) return bad_grant("no name of a credential");
  if (at == std::string_view::npos) return credential;
  auto host = parse_host(text.substr(at + 1));
  if (!host) return bad_grant(host.error().what);
  credential.host = std::move(*host);
  return credential;
}

Result<std::vector<Method>> parse_methods(std::string_view text) {
  std::vector<Method> methods;
  for (const std::string_view piece : split(text, '+')) {
    const auto method = parse_method(piece);
    if (!method) return bad_grant("no method", "GET, HEAD, POST, PUT, PATCH or DELETE");
    if (std::find(methods.begin(), methods.end(), *method) != methods.end()) return bad_grant("a method twice");
    methods.push_back(*method);
  }
  return methods;
}

bool gives_method(const Grant& grant, const Wanted& wanted) {
  return std::find(grant.methods.begin(), grant.methods.end(), wanted.method) != grant.methods.end();
}

bool gives_credential(const Grant& grant, const Wanted& wanted) {
  if (!wanted.credential) return true;
  return std::any_of(grant.credentials.begin(), grant.credentials.end(), [&](const GrantedCredential& given) {
    return given.name == *wanted.credential && (!given.host || *given.host == wanted.host);
  });
}

}  // namespace

Result<Grant> parse_grant(std::string_view text) {
  if (text.size() > kMaxGrant) return bad_grant("a grant over 1024 bytes");
  const auto parts = split(text, ':');
  if (parts.size() == 1) return bad_grant("a grant of nothing", "TOOL:: is a token that may only read blobs");
  if (parts.size() > 3) return bad_grant("a colon too many");
  Grant grant;
  grant.caller = std::string(parts[0]);
  if (!fields::is_name(grant.caller)) return bad_grant("no name of a caller");
  if (!parts[1].empty()) {
    for (const std::string_view piece : split(parts[1], '+')) {
      LOOM_TRY(auto credential, parse_granted(piece));
      grant.credentials.push_back(std::move(credential));
    }
  }
  if (parts.size() == 3 && !parts[2].empty()) {
    LOOM_TRY(grant.methods, parse_methods(parts[2]));
  } else if (!grant.credentials.empty()) {
    grant.methods = {Method::kGet, Method::kHead};
  } else if (parts.size() == 2) {
    return bad_grant("a grant of nothing", "TOOL:: is a token that may only read blobs");
  }
  // What is read can be written: the methods that go without saying count.
  if (render_grant(grant).size() > kMaxGrant) return bad_grant("a grant over 1024 bytes, its methods written out");
  return grant;
}

std::string render_grant(const Grant& grant) {
  std::string credentials;
  for (const GrantedCredential& given : grant.credentials) {
    credentials += (credentials.empty() ? "" : "+") + given.name;
    if (!given.host) continue;
    credentials += given.host->kind == HostKind::kIpv6 ? "@[" + given.host->text + "]" : "@" + given.host->text;
  }
  std::string methods;
  for (const Method method : grant.methods)
    methods += (methods.empty() ? "" : "+") + std::string(render_method(method));
  return grant.caller + ":" + credentials + ":" + methods;
}

Result<CredentialSource> parse_credential_source(std::string_view text) {
  const auto bad = [](std::string what) {
    return fail("bad_credential", "", std::move(what), "NAME=ENV_VAR or NAME@PRINCIPAL=ENV_VAR");
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return bad("no environment variable");
  const std::string_view left = text.substr(0, equals);
  const std::size_t at = left.find('@');
  CredentialSource source{std::string(left.substr(0, at)), std::nullopt, std::string(text.substr(equals + 1))};
  if (!fields::is_name(source.name)) return bad("no name of a credential");
  if (at != std::string_view::npos) {
    source.principal = std::string(left.substr(at + 1));
    if (!fields::is_name(*source.principal)) return bad("no name of a principal");
  }
  // What is written here is a NAME: text that no variable is called by may be the secret itself, and is not repeated.
  const auto is_env_char = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const std::string& env = source.env;
  if (env.empty() || env.size() > 256 || (env[0] >= '0' && env[0] <= '9') ||
      !std::all_of(env.begin(), env.end(), is_env_char))
    return bad("no name of an environment variable");
  return source;
}

std::vector<Method> granted_methods(const std::vector<Grant>& grants, const Wanted& wanted) {
  std::vector<Method> methods;
  for (const Grant& grant : grants) {
    if (gives_credential(grant, wanted)) methods.insert(methods.end(), grant.methods.begin(), grant.methods.end());
  }
  return methods;
}

Outcome<void> judge_grants(const std::vector<Grant>& grants, const Wanted& wanted,
                           const std::optional<std::string>& principal) {
  const auto refused = [](RuleKind kind) { return refuse(NotAllowed{Rule{kind, std::nullopt}}, Stage::kPolicy); };
  if (std::all_of(grants.begin(), grants.end(), [](const Grant& grant) { return grant.blobs_only(); }))
    return refused(RuleKind::kGrant);
  const auto any_method = [&](const Grant& grant) { return gives_method(grant, wanted); };
  if (std::none_of(grants.begin(), grants.end(), any_method))
    return refuse(MethodNotAllowed{Rule{RuleKind::kGrantMethods, std::nullopt}}, Stage::kPolicy);
  if (wanted.owner && wanted.owner != principal) return refused(RuleKind::kPrincipal);
  const auto whole = [&](const Grant& grant) { return gives_method(grant, wanted) && gives_credential(grant, wanted); };
  if (std::none_of(grants.begin(), grants.end(), whole)) return refused(RuleKind::kGrantCredential);
  return {};
}

}  // namespace loom::egress
