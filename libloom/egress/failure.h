// Why a request or a tunnel was not carried out: the stable codes of spec/egress.md as a closed type. One value goes
// from whoever finds the fault to the answer, the record and the line on stderr. Pure.
//
// No field can hold the value of a secret: what a library or an upstream says is told in Words of our own, and the
// texts here are the caller's (judged before any secret is read), names from the policy, or an origin that was
// scrubbed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/value.h"
#include "egress/addresses.h"

namespace loom::egress {

// How far it had come.
enum class Stage {
  kRequest,  // the document, the URL, the headers
  kPolicy,   // the judge
  kSecret,
  kResolve,
  kConnect,
  kTls,
  kSend,
  kResponse,  // its head
  kBody,
  kRedirect,
};
[[nodiscard]] std::string_view render_stage(Stage stage);

// Text that stands in the source: nothing that was received can be put into it.
class Words {
 public:
  template <std::size_t N>
  constexpr Words(const char (&literal)[N]) : text_(literal, N - 1) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr std::string_view text() const { return text_; }
  friend bool operator==(const Words&, const Words&) = default;

 private:
  std::string_view text_;
};

// The rule that decided. `entry` is the position in the list it belongs to: of origins, or of the proxy's ENTRYs.
enum class RuleKind {
  kScheme,           // https only
  kOrigins,          // no entry has this origin
  kPathForm,         // dot segments, %2e, %2f, %5c
  kPathPrefixes,     // entry
  kMethodSet,        // no method of the fixed set
  kMethods,          // entry
  kSecrets,          // entry
  kHeaders,          // entry
  kAllow,            // the proxy's list: no ENTRY covers the target
  kAllowEntry,       // entry: the ENTRY that admits, or that alone names the host
  kHostHeader,       // Host differs from the target
  kServerName,       // the SNI is missing or differs
  kNotTls,           // the tunnel carries something else
  kGrant,            // the caller has none
  kGrantMethods,     // the grant's methods
  kGrantCredential,  // the grant's credentials, or the host of one
  kPrincipal,        // owned by another
  kCalls,            // the budget of calls is spent
};
struct Rule {
  RuleKind kind = RuleKind::kOrigins;
  std::optional<std::size_t> entry;
  friend bool operator==(const Rule&, const Rule&) = default;
};
// "/origins", "/origins/2/methods", "allow", "grant": stable, without a blank.
[[nodiscard]] std::string render_rule(const Rule& rule);

enum class HeaderFault { kNotAToken, kControl, kNotLatin1, kReserved, kNotListed, kTwice, kTooMany };
[[nodiscard]] std::string_view render_fault(HeaderFault fault);
enum class RedirectFault { kOtherOrigin, kTooMany, kSeveralLocations, kSyntax, kNotAllowed, kMethod };
[[nodiscard]] std::string_view render_fault(RedirectFault fault);

struct BadRequest {
  std::string where;  // a JSON pointer into the request
  std::string what;
  bool too_large = false;  // the endpoint's 413
};
struct HostSyntax {
  std::string what;
};
struct NotAllowed {
  Rule rule;
};
struct MethodNotAllowed {
  Rule rule;
};
struct AddressRefused {
  Address address;
  AddressFault why = AddressFault::kReserved;
};
struct SecretMissing {
  std::string name;  // of the credential
};
struct HeaderRefused {
  std::string name;  // shown at most 64 bytes of it
  HeaderFault why = HeaderFault::kReserved;
};
struct DnsFailed {
  Words what;
};
struct ConnectFailed {
  Words what;
};
struct TlsFailed {
  Words what;
};
struct RedirectRefused {
  std::string to;  // an origin, scrubbed; "" where there is none
  RedirectFault why = RedirectFault::kSyntax;
};
struct ResponseTooLarge {
  std::uint64_t limit = 0;  // bytes
};
struct DeadlinePassed {};  // the stage says where
struct UpstreamFailed {
  Words what;
};

using Cause = std::variant<BadRequest, HostSyntax, NotAllowed, MethodNotAllowed, AddressRefused, SecretMissing,
                           HeaderRefused, DnsFailed, ConnectFailed, TlsFailed, RedirectRefused, ResponseTooLarge,
                           DeadlinePassed, UpstreamFailed>;

struct Failure {
  Cause cause;
  Stage stage = Stage::kRequest;
};
template <class T>
using Outcome = tl::expected<T, Failure>;
// return refuse(NotAllowed{rule}, Stage::kPolicy);
[[nodiscard]] inline tl::unexpected<Failure> refuse(Cause cause, Stage stage) {
  return tl::unexpected<Failure>(Failure{std::move(cause), stage});
}
[[nodiscard]] inline tl::unexpected<Failure> refuse(Failure failure) {
  return tl::unexpected<Failure>(std::move(failure));
}

// "not_allowed", "address_refused": the stable name.
[[nodiscard]] std::string_view failure_code(const Failure& failure);
// One line a person understands, without the code.
[[nodiscard]] std::string failure_message(const Failure& failure);
// What to do about it, or "".
[[nodiscard]] std::string failure_hint(const Failure& failure);
// What tells refusals of one code apart in a record: the rule, the name, the fault; bounded.
[[nodiscard]] std::string failure_reason(const Failure& failure);
// {code, message, where, hint, stage} and the fields of the cause (rule; address, why; name; name, why; what; to, why;
// limit): an element of `errors` in a tool's answer.
[[nodiscard]] Map render_failure(const Failure& failure);
// The same as an error of a tool: code, the place and the message.
[[nodiscard]] Error to_error(const Failure& failure);

}  // namespace loom::egress
