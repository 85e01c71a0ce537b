#include "egress/tokens.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "egress/document_fields.h"

namespace loom::egress {

namespace {

Result<std::string> decode_digest(const Value& value, const std::string& where) {
  LOOM_TRY(std::string text, fields::text(value, where));
  const bool hex = text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
                     return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                   });
  if (!hex) return fail("bad_digest", where, "want the SHA-256 of a token, 64 lower-case hex digits");
  return text;
}

Result<TokenNotice> decode_revoked(const Value& value) {
  LOOM_CHECK(fields::exact_map(value, "", {"revoke"}));
  TokenRevoked revoked;
  LOOM_TRY(revoked.sha256, decode_digest(*value.find("revoke"), "/revoke"));
  return TokenNotice(std::move(revoked));
}

}  // namespace

Result<TokenNotice> decode_token_notice(std::string_view line) {
  LOOM_TRY(const Value value, parse_json(line, JsonLimits{kMaxNotice, 2}));
  if (value.find("revoke") != nullptr) return decode_revoked(value);
  LOOM_CHECK(fields::exact_map(value, "", {"token_sha256", "caller", "run", "expires"}));
  TokenGranted granted;
  LOOM_TRY(granted.sha256, decode_digest(*value.find("token_sha256"), "/token_sha256"));
  LOOM_TRY(granted.caller, fields::name(*value.find("caller"), "/caller"));
  LOOM_TRY(granted.run, fields::text(*value.find("run"), "/run"));
  if (granted.run.size() > 256) return fail("bad_name", "/run", "a name over 256 bytes");
  LOOM_TRY(const std::uint64_t expires, fields::number(*value.find("expires"), "/expires", 0, INT64_MAX));
  granted.expires_ms = static_cast<std::int64_t>(expires);
  return TokenNotice(std::move(granted));
}

std::string render_token_notice(const TokenNotice& notice) {
  Map map;
  if (const auto* granted = std::get_if<TokenGranted>(&notice)) {
    map = {{"token_sha256", granted->sha256},
           {"caller", granted->caller},
           {"run", granted->run},
           {"expires", granted->expires_ms}};
  } else {
    map = {{"revoke", std::get<TokenRevoked>(notice).sha256}};
  }
  return render_json(Value(std::move(map)));
}

bool Tokens::apply(const TokenNotice& notice) {
  if (const auto* revoked = std::get_if<TokenRevoked>(&notice)) {
    known_.erase(revoked->sha256);
    return true;
  }
  const auto& granted = std::get<TokenGranted>(notice);
  if (known_.size() >= kMost && known_.find(granted.sha256) == known_.end()) return false;
  const auto [at, fresh] = known_.try_emplace(granted.sha256, Known{{granted.caller, granted.run, CallBudget()}, 0});
  at->second.expires_ms = granted.expires_ms;
  at->second.caller.name = granted.caller;
  at->second.caller.run = granted.run;
  return true;
}

Caller* Tokens::find(std::string_view token, std::int64_t now_ms) {
  return find_digest(sha256_hex(token), now_ms);
}

Caller* Tokens::find_digest(const std::string& sha256, std::int64_t now_ms) {
  const auto found = known_.find(sha256);
  if (found == known_.end()) return nullptr;
  if (found->second.expires_ms != 0 && found->second.expires_ms <= now_ms) {
    known_.erase(found);
    return nullptr;
  }
  return &found->second.caller;
}

}  // namespace loom::egress
