#include "egress/policy_document.h"

#include <algorithm>

#include "base/json.h"
#include "egress/document_fields.h"
#include "egress/headers.h"
#include "egress/judge.h"

namespace loom::egress {

namespace {

Result<Origin> decode_origin(const Value& value, const std::string& where) {
  LOOM_TRY(const std::string text, fields::text(value, where));
  auto origin = parse_origin(text, Schemes::kHttpsOnly);
  if (!origin) {
    Error error = std::move(origin).error();
    error.where = where;
    return fail(std::move(error));
  }
  return origin;
}

Result<Method> decode_method(const Value& value, const std::string& where) {
  LOOM_TRY(const std::string text, fields::text(value, where));
  const auto method = parse_method(text);
  if (!method) return fail("bad_method", where, "no method: want GET, HEAD, POST, PUT, PATCH or DELETE");
  return *method;
}

Result<std::string> decode_prefix(const Value& value, const std::string& where) {
  LOOM_TRY(std::string text, fields::text(value, where));
  const bool fine = !text.empty() && text.front() == '/' && !is_ambiguous_path(text) &&
                    parse_url("https://host" + text, Schemes::kHttpsOnly) && text.find('?') == std::string::npos;
  if (!fine)
    return fail("bad_path_prefix", where, "a prefix that no path begins with",
                "a prefix begins with '/' and has no dot segments, %2e, %2f, %5c, query or blank");
  return text;
}

Result<std::string> decode_header_name(const Value& value, const std::string& where) {
  LOOM_TRY(const std::string text, fields::text(value, where));
  if (!is_token(text)) return fail("bad_header", where, "no header name");
  return lower_ascii(text);
}

Result<OriginEntry> decode_entry(const Value& value, const std::string& where) {
  LOOM_CHECK(fields::exact_map(value, where, {"origin", "methods", "path_prefixes", "headers", "secrets"}));
  OriginEntry entry;
  LOOM_TRY(entry.origin, decode_origin(*value.find("origin"), where + "/origin"));
  LOOM_TRY(entry.methods, fields::list<Method>(*value.find("methods"), where + "/methods", decode_method));
  LOOM_TRY(entry.path_prefixes,
           fields::list<std::string>(*value.find("path_prefixes"), where + "/path_prefixes", decode_prefix));
  LOOM_TRY(entry.headers, fields::list<std::string>(*value.find("headers"), where + "/headers", decode_header_name));
  LOOM_TRY(entry.secrets, fields::list<std::string>(*value.find("secrets"), where + "/secrets", fields::name));
  return entry;
}

Result<SecretBinding> decode_secret(const Member& member, const std::string& where) {
  LOOM_CHECK(fields::exact_map(member.second, where, {"env", "header", "prefix"}));
  SecretBinding binding;
  LOOM_TRY(binding.name, fields::name(Value(member.first), where));
  LOOM_TRY(binding.env, loom::fields::env_name(*member.second.find("env"), where + "/env"));
  LOOM_TRY(binding.header, decode_header_name(*member.second.find("header"), where + "/header"));
  if (is_framing_header(binding.header))
    return fail("reserved_header", where + "/header", "a header that frames or routes the message holds no secret");
  LOOM_TRY(const std::string prefix, fields::text(*member.second.find("prefix"), where + "/prefix"));
  const auto bytes = to_latin1(prefix);
  if (!bytes || judge_header_value(*bytes) || bytes->size() > 256)
    return fail("bad_header", where + "/prefix", "no beginning of a header's value");
  binding.prefix = *bytes;
  return binding;
}

Result<std::vector<SecretBinding>> decode_secrets(const Value& value, const std::string& where) {
  const auto* map = value.get_if<Map>();
  if (map == nullptr) return fields::wrong_type(where, "map", value);
  std::vector<SecretBinding> bindings;
  for (const Member& member : *map) {
    LOOM_TRY(auto binding, decode_secret(member, where + "/" + member.first));
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

Result<unsigned> decode_redirects(const Value& value, const std::string& where) {
  if (value == Value("none")) return 0U;
  LOOM_CHECK(fields::exact_map(value, where, {"same_host"}));
  LOOM_TRY(const std::uint64_t n, fields::number(*value.find("same_host"), where + "/same_host", 1, kMaxRedirects));
  return static_cast<unsigned>(n);
}

Result<std::string> decode_root(const Value& value, const std::string& where) {
  LOOM_TRY(std::string file, fields::text(value, where));
  if (file.empty() || file.find('\0') != std::string::npos) return fail("bad_path", where, "no file name");
  return file;
}

Result<Trust> decode_trust(const Value& value, const std::string& where) {
  LOOM_CHECK(fields::exact_map(value, where, {"roots"}));
  const Value& roots = *value.find("roots");
  Trust trust;
  if (roots == Value("system")) return trust;
  if (roots.get_if<Array>() == nullptr)
    return fields::wrong_type(where + "/roots", "\"system\" or an array of PEM files", roots);
  trust.system_roots = false;
  LOOM_TRY(trust.files, fields::list<std::string>(roots, where + "/roots", decode_root));
  return trust;
}

Result<AddressRange> decode_range(const Value& value, const std::string& where) {
  LOOM_TRY(const std::string text, fields::text(value, where));
  auto range = parse_range(text);
  if (!range) return fail("bad_range", where, range.error().what, range.error().hint);
  return range;
}

Result<Resolver> decode_resolver(const Value& value, const std::string& where) {
  LOOM_TRY(const std::string text, fields::text(value, where));
  Resolver resolver;
  if (text == "system") return resolver;
  const auto server = parse_host_port(text);
  const auto address = server ? address_of(server->host) : std::nullopt;
  if (!address) return fail("bad_resolver", where, "want \"system\" or ADDRESS:PORT");
  resolver.server = Resolver::Server{*address, server->port};
  return resolver;
}

// What each entry says, held against the secrets: all known, none in a header of the caller's, each with one origin.
Status check_entries(const EgressPolicy& policy) {
  std::vector<const Origin*> origin_of(policy.secrets.size(), nullptr);
  for (std::size_t i = 0; i < policy.origins.size(); ++i) {
    const OriginEntry& entry = policy.origins[i];
    const std::string where = "/origins/" + std::to_string(i);
    for (std::size_t h = 0; h < entry.headers.size(); ++h) {
      if (is_reserved_header(entry.headers[h]) || policy.binds_header(entry.headers[h]))
        return fail("reserved_header", where + "/headers/" + std::to_string(h),
                    "the header " + entry.headers[h] + " is never the caller's to set");
    }
    for (std::size_t s = 0; s < entry.secrets.size(); ++s) {
      const std::string place = where + "/secrets/" + std::to_string(s);
      const SecretBinding* binding = policy.find_secret(entry.secrets[s]);
      if (binding == nullptr) return fail("unknown_secret", place, "the policy has no secret of this name");
      const Origin*& bound = origin_of[static_cast<std::size_t>(binding - policy.secrets.data())];
      if (bound != nullptr && *bound != entry.origin)
        return fail("secret_of_two_origins", place, "the secret is bound to " + render_origin(*bound) + " already",
                    "one secret goes to one origin: give the other one a name of its own");
      bound = &entry.origin;
    }
  }
  return {};
}

}  // namespace

std::string render_resolver(const Resolver& resolver) {
  if (!resolver.server) return "system";
  const std::string address = render_address(resolver.server->address);
  return (resolver.server->address.v6 ? "[" + address + "]" : address) + ":" + std::to_string(resolver.server->port);
}

const SecretBinding* EgressPolicy::find_secret(std::string_view name) const {
  const auto found =
      std::find_if(secrets.begin(), secrets.end(), [&](const SecretBinding& binding) { return binding.name == name; });
  return found == secrets.end() ? nullptr : &*found;
}

bool EgressPolicy::binds_header(std::string_view lower_name) const {
  return std::any_of(secrets.begin(), secrets.end(),
                     [&](const SecretBinding& binding) { return binding.header == lower_name; });
}

Result<EgressPolicy> decode_egress_policy(const Value& value, const std::string& where) {
  if (value.get_if<Map>() == nullptr) return fields::wrong_type(where, "map", value);
  if (const Value* version = value.find("v"); version != nullptr && *version != Value(1))
    return fail("unsupported_version", where + "/v", "unsupported version: this build reads version 1");
  LOOM_CHECK(fields::exact_map(value, where,
                               {"v", "origins", "secrets", "redirects", "deadline_ms", "request_bytes",
                                "response_bytes", "trust", "ip_allow", "resolver", "response_headers"}));
  const auto at = [&](const char* key) { return where + "/" + key; };
  EgressPolicy policy;
  LOOM_TRY(policy.origins, fields::list<OriginEntry>(*value.find("origins"), at("origins"), decode_entry));
  LOOM_TRY(policy.secrets, decode_secrets(*value.find("secrets"), at("secrets")));
  LOOM_TRY(policy.same_host_redirects, decode_redirects(*value.find("redirects"), at("redirects")));
  LOOM_TRY(policy.deadline_ms, fields::number(*value.find("deadline_ms"), at("deadline_ms"), 1, kMaxDeadlineMs));
  LOOM_TRY(policy.request_bytes, fields::number(*value.find("request_bytes"), at("request_bytes"), 0, kMaxBodyBytes));
  LOOM_TRY(policy.response_bytes,
           fields::number(*value.find("response_bytes"), at("response_bytes"), 0, kMaxBodyBytes));
  LOOM_TRY(policy.trust, decode_trust(*value.find("trust"), at("trust")));
  LOOM_TRY(policy.ip_allow, fields::list<AddressRange>(*value.find("ip_allow"), at("ip_allow"), decode_range));
  LOOM_TRY(policy.resolver, decode_resolver(*value.find("resolver"), at("resolver")));
  LOOM_TRY(policy.response_headers,
           fields::list<std::string>(*value.find("response_headers"), at("response_headers"), decode_header_name));
  if (auto checked = check_entries(policy); !checked) {
    Error error = std::move(checked).error();
    error.where = where + error.where;
    return fail(std::move(error));
  }
  return policy;
}

Result<EgressPolicy> decode_egress_policy_bytes(std::string_view json) {
  LOOM_TRY(const Value value, parse_json(json));
  return decode_egress_policy(value);
}

void anchor_trust(EgressPolicy& policy, std::string_view folder) {
  for (std::string& file : policy.trust.files) {
    if (file.front() != '/' && !folder.empty()) file = std::string(folder) + "/" + file;
  }
}

}  // namespace loom::egress
