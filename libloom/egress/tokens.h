// Who calls (spec/egress.md "One token system"): the endpoint knows the digest of each token, never the token; a token
// decides the caller. Tokens come from a broker by --tokens-fd, one JSON line a notice, or are minted alone at the
// start. Pure: the time is handed in.
//
//     {"token_sha256":HEX,"caller":NAME,"run":ID,"expires":MS}     known from now on; MS since 1970, 0: while the door
//     is open
//     {"revoke":HEX}                                               unknown from now on
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "egress/grants.h"

namespace loom::egress {

struct TokenGranted {
  std::string sha256;  // of the token's text, lower-case hex
  std::string caller;
  std::string run;  // "" without one
  std::int64_t expires_ms = 0;
};
struct TokenRevoked {
  std::string sha256;
};
using TokenNotice = std::variant<TokenGranted, TokenRevoked>;
inline constexpr std::size_t kMaxNotice = 4096;
// One line, without its newline. Errors: those of base/json.h, unknown_key, missing_key, wrong_type, bad_name,
// bad_digest, out_of_range.
[[nodiscard]] Result<TokenNotice> decode_token_notice(std::string_view line);
// Without a newline, too.
[[nodiscard]] std::string render_token_notice(const TokenNotice& notice);

struct Caller {
  std::string name;
  std::string run;
  CallBudget budget;
};

class Tokens {
 public:
  // A token that is told twice keeps its budget: telling it again refills nothing. At most kMost are known; one more
  // is not taken (false).
  static constexpr std::size_t kMost = 65536;
  bool apply(const TokenNotice& notice);
  // The caller behind a token, or nullptr: unknown, revoked, expired. Borrowed until the next apply().
  [[nodiscard]] Caller* find(std::string_view token, std::int64_t now_ms);
  // The same by the token's digest: what a call in progress remembers of its caller.
  [[nodiscard]] Caller* find_digest(const std::string& sha256, std::int64_t now_ms);
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    Caller caller;
    std::int64_t expires_ms = 0;
  };
  std::map<std::string, Known> known_;  // by digest: an equal digest is an equal token, and its timing tells nothing
};

}  // namespace loom::egress
