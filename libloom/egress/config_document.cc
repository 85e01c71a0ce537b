#include "egress/config_document.h"

#include <algorithm>

#include "base/json.h"
#include "egress/document_fields.h"

namespace loom::egress {

namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

Result<Grant> decode_grant(const Value& value, const std::string& where) {
  LOOM_TRY(const std::string text, fields::text(value, where));
  auto grant = parse_grant(text);
  if (!grant) return fail("bad_grant", where, grant.error().what, grant.error().hint);
  return grant;
}

// Every credential is there before a caller asks for it.
Status check_credentials(const EgressConfig& config) {
  for (std::size_t i = 0; i < config.credentials.size(); ++i) {
    if (config.policy.find_secret(config.credentials[i]) == nullptr)
      return fail("unknown_credential", "/credentials/" + std::to_string(i), "the policy has no secret of this name");
  }
  for (std::size_t i = 0; i < config.grants.size(); ++i) {
    for (const GrantedCredential& given : config.grants[i].credentials) {
      if (!contains(config.credentials, given.name))
        return fail("unknown_credential", "/grants/" + std::to_string(i),
                    "the credential " + given.name + " is not listed", "credentials lists what grants may give");
    }
  }
  return {};
}

}  // namespace

std::vector<Grant> EgressConfig::grants_of(std::string_view caller) const {
  std::vector<Grant> found;
  for (const Grant& grant : grants) {
    if (grant.caller == caller) found.push_back(grant);
  }
  return found;
}

std::vector<std::string> EgressConfig::callers() const {
  std::vector<std::string> names;
  for (const Grant& grant : grants) {
    if (!contains(names, grant.caller)) names.push_back(grant.caller);
  }
  return names;
}

Result<EgressConfig> decode_egress_config(const Value& value) {
  if (value.get_if<Map>() == nullptr) return fields::wrong_type("", "map", value);
  if (const Value* version = value.find("v"); version != nullptr && *version != Value(1))
    return fail("unsupported_version", "/v", "unsupported version: this build reads version 1");
  LOOM_CHECK(fields::map_of(value, "", {"v", "policy"}, {"grants", "credentials", "record"}));
  EgressConfig config;
  LOOM_TRY(config.policy, decode_egress_policy(*value.find("policy"), "/policy"));
  if (const Value* grants = value.find("grants")) {
    LOOM_TRY(config.grants, fields::list<Grant>(*grants, "/grants", decode_grant));
  }
  if (const Value* credentials = value.find("credentials")) {
    LOOM_TRY(config.credentials, fields::list<std::string>(*credentials, "/credentials", fields::name));
  }
  if (const Value* record = value.find("record")) {
    LOOM_TRY(std::string file, fields::text(*record, "/record"));
    if (file.empty() || file.find('\0') != std::string::npos) return fail("bad_path", "/record", "no file name");
    config.record = std::move(file);
  }
  LOOM_CHECK(check_credentials(config));
  return config;
}

Result<EgressConfig> decode_egress_config_bytes(std::string_view json) {
  LOOM_TRY(const Value value, parse_json(json));
  return decode_egress_config(value);
}

void anchor(EgressConfig& config, std::string_view folder) {
  anchor_trust(config.policy, folder);
  if (config.record && config.record->front() != '/' && !folder.empty())
    config.record = std::string(folder) + "/" + *config.record;
}

}  // namespace loom::egress
