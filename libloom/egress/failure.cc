#include "egress/failure.h"

#include <algorithm>

namespace loom::egress {

namespace {

// One row a cause, in the order of the variant.
constexpr std::string_view kCodes[] = {"bad_request",      "host_syntax",
                                       "not_allowed",      "method_not_allowed",
                                       "address_refused",  "secret_missing",
                                       "header_refused",   "dns",
                                       "connect",          "tls",
                                       "redirect_refused", "response_too_large",
                                       "deadline",         "upstream"};
static_assert(std::size(kCodes) == std::variant_size_v<Cause>);

std::string_view fault_words(HeaderFault fault) {
  switch (fault) {
    case HeaderFault::kNotAToken:
      return "is no header name";
    case HeaderFault::kControl:
      return "has a control character in its value";
    case HeaderFault::kNotLatin1:
      return "has a character over U+00FF in its value";
    case HeaderFault::kReserved:
      return "is not the caller's to set";
    case HeaderFault::kNotListed:
      return "is not among the headers of the entry";
    case HeaderFault::kTwice:
      return "is there twice";
    case HeaderFault::kTooMany:
      return "is one too many, or too long";
  }
  return "is refused";
}

std::string_view fault_words(RedirectFault fault) {
  switch (fault) {
    case RedirectFault::kOtherOrigin:
      return "leads to another origin";
    case RedirectFault::kTooMany:
      return "is one more than the policy follows";
    case RedirectFault::kSeveralLocations:
      return "names several places";
    case RedirectFault::kSyntax:
      return "names no place that could be judged";
    case RedirectFault::kNotAllowed:
      return "leads to what the policy does not allow";
    case RedirectFault::kMethod:
      return "asks for a method that the policy does not allow";
  }
  return "is refused";
}

std::string_view rule_words(RuleKind kind) {
  switch (kind) {
    case RuleKind::kScheme:
      return "https alone is allowed";
    case RuleKind::kOrigins:
      return "no entry of the policy has this origin";
    case RuleKind::kPathForm:
      return "the path has dot segments, an escaped dot or slash, or a backslash: it would have to be normalised";
    case RuleKind::kPathPrefixes:
      return "the path begins with none of the entry's prefixes";
    case RuleKind::kMethodSet:
      return "the method is none of GET, HEAD, POST, PUT, PATCH and DELETE";
    case RuleKind::kMethods:
      return "the method is not among those of the entry";
    case RuleKind::kSecrets:
      return "the credential is not among those of the entry";
    case RuleKind::kHeaders:
      return "a header is not among those of the entry";
    case RuleKind::kAllow:
      return "no entry of the allow list covers it";
    case RuleKind::kAllowEntry:
      return "the entry does not cover it";
    case RuleKind::kHostHeader:
      return "the Host header names another host";
    case RuleKind::kServerName:
      return "the TLS server name is missing or another one";
    case RuleKind::kNotTls:
      return "the tunnel does not carry TLS";
    case RuleKind::kGrant:
      return "the caller has no grant";
    case RuleKind::kGrantMethods:
      return "the method is not among those of the grant";
    case RuleKind::kGrantCredential:
      return "the grant does not give this credential to this host";
    case RuleKind::kPrincipal:
      return "the credential belongs to another principal";
    case RuleKind::kCalls:
      return "the calls of this token are spent";
  }
  return "refused";
}

std::string_view stage_words(Stage stage) {
  switch (stage) {
    case Stage::kRequest:
      return "reading the request";
    case Stage::kPolicy:
      return "judging the request";
    case Stage::kSecret:
      return "reading the credential";
    case Stage::kResolve:
      return "looking the host up";
    case Stage::kConnect:
      return "connecting";
    case Stage::kTls:
      return "the TLS handshake";
    case Stage::kSend:
      return "sending the request";
    case Stage::kResponse:
      return "waiting for the response";
    case Stage::kBody:
      return "reading the body";
    case Stage::kRedirect:
      return "following a redirect";
  }
  return "the request";
}

struct Message {
  Stage stage;
  std::string operator()(const BadRequest& c) const { return c.what; }
  std::string operator()(const HostSyntax& c) const { return c.what; }
  std::string operator()(const NotAllowed& c) const { return std::string(rule_words(c.rule.kind)); }
  std::string operator()(const MethodNotAllowed& c) const { return std::string(rule_words(c.rule.kind)); }
  std::string operator()(const AddressRefused& c) const {
    return "the address " + render_address(c.address) + " is refused: " + std::string(render_fault(c.why));
  }
  std::string operator()(const SecretMissing& c) const {
    return "the environment variable of the credential " + c.name + " is not set, or empty";
  }
  std::string operator()(const HeaderRefused& c) const {
    return "the header " + c.name + " " + std::string(fault_words(c.why));
  }
  std::string operator()(const DnsFailed& c) const { return std::string(c.what.text()); }
  std::string operator()(const ConnectFailed& c) const { return std::string(c.what.text()); }
  std::string operator()(const TlsFailed& c) const { return std::string(c.what.text()); }
  std::string operator()(const RedirectRefused& c) const {
    return "the redirect" + (c.to.empty() ? "" : " to " + c.to) + " " + std::string(fault_words(c.why));
  }
  std::string operator()(const ResponseTooLarge& c) const {
    return "the response is over " + std::to_string(c.limit) + " bytes";
  }
  std::string operator()(const DeadlinePassed&) const {
    return "the deadline passed while " + std::string(stage == Stage::kTls ? "in " : "") +
           std::string(stage_words(stage));
  }
  std::string operator()(const UpstreamFailed& c) const { return std::string(c.what.text()); }
};

// The fields of each cause, by their names in spec/egress.md.
struct Fields {
  Map& map;
  void operator()(const BadRequest&) const {}
  void operator()(const HostSyntax&) const {}
  void operator()(const NotAllowed& c) const { map.emplace_back("rule", render_rule(c.rule)); }
  void operator()(const MethodNotAllowed& c) const { map.emplace_back("rule", render_rule(c.rule)); }
  void operator()(const AddressRefused& c) const {
    map.emplace_back("address", render_address(c.address));
    map.emplace_back("why", render_fault(c.why));
  }
  void operator()(const SecretMissing& c) const { map.emplace_back("name", c.name); }
  void operator()(const HeaderRefused& c) const {
    map.emplace_back("name", c.name);
    map.emplace_back("why", render_fault(c.why));
  }
  void operator()(const DnsFailed& c) const { map.emplace_back("what", c.what.text()); }
  void operator()(const ConnectFailed& c) const { map.emplace_back("what", c.what.text()); }
  void operator()(const TlsFailed& c) const { map.emplace_back("what", c.what.text()); }
  void operator()(const RedirectRefused& c) const {
    map.emplace_back("to", c.to);
    map.emplace_back("why", render_fault(c.why));
  }
  void operator()(const ResponseTooLarge& c) const { map.emplace_back("limit", c.limit); }
  void operator()(const DeadlinePassed&) const {}
  void operator()(const UpstreamFailed& c) const { map.emplace_back("what", c.what.text()); }
};

}  // namespace

std::string_view render_stage(Stage stage) {
  switch (stage) {
    case Stage::kRequest:
      return "request";
    case Stage::kPolicy:
      return "policy";
    case Stage::kSecret:
      return "secret";
    case Stage::kResolve:
      return "resolve";
    case Stage::kConnect:
      return "connect";
    case Stage::kTls:
      return "tls";
    case Stage::kSend:
      return "send";
    case Stage::kResponse:
      return "response";
    case Stage::kBody:
      return "body";
    case Stage::kRedirect:
      return "redirect";
  }
  return "request";
}

std::string render_rule(const Rule& rule) {
  const std::string entry = rule.entry ? std::to_string(*rule.entry) : "";
  std::string origin = entry.empty() ? "/origins" : "/origins/" + entry;
  switch (rule.kind) {
    case RuleKind::kScheme:
      return "scheme";
    case RuleKind::kOrigins:
      return origin;
    case RuleKind::kPathForm:
      return "path_form";
    case RuleKind::kPathPrefixes:
      return origin + "/path_prefixes";
    case RuleKind::kMethodSet:
      return "method_set";
    case RuleKind::kMethods:
      return origin + "/methods";
    case RuleKind::kSecrets:
      return origin + "/secrets";
    case RuleKind::kHeaders:
      return origin + "/headers";
    case RuleKind::kAllow:
      return "allow";
    case RuleKind::kAllowEntry:
      return "allow/" + entry;
    case RuleKind::kHostHeader:
      return "host_header";
    case RuleKind::kServerName:
      return "server_name";
    case RuleKind::kNotTls:
      return "not_tls";
    case RuleKind::kGrant:
      return "grant";
    case RuleKind::kGrantMethods:
      return "grant/methods";
    case RuleKind::kGrantCredential:
      return "grant/credentials";
    case RuleKind::kPrincipal:
      return "principal";
    case RuleKind::kCalls:
      return "calls";
  }
  return "refused";
}

std::string_view render_fault(HeaderFault fault) {
  switch (fault) {
    case HeaderFault::kNotAToken:
      return "not_a_token";
    case HeaderFault::kControl:
      return "control";
    case HeaderFault::kNotLatin1:
      return "not_latin1";
    case HeaderFault::kReserved:
      return "reserved";
    case HeaderFault::kNotListed:
      return "not_listed";
    case HeaderFault::kTwice:
      return "twice";
    case HeaderFault::kTooMany:
      return "too_many";
  }
  return "refused";
}

std::string_view render_fault(RedirectFault fault) {
  switch (fault) {
    case RedirectFault::kOtherOrigin:
      return "other_origin";
    case RedirectFault::kTooMany:
      return "too_many";
    case RedirectFault::kSeveralLocations:
      return "several_locations";
    case RedirectFault::kSyntax:
      return "syntax";
    case RedirectFault::kNotAllowed:
      return "not_allowed";
    case RedirectFault::kMethod:
      return "method";
  }
  return "refused";
}

std::string_view failure_code(const Failure& failure) {
  return kCodes[failure.cause.index()];
}

std::string failure_message(const Failure& failure) {
  return std::visit(Message{failure.stage}, failure.cause);
}

std::string failure_hint(const Failure& failure) {
  if (const auto* refused = std::get_if<AddressRefused>(&failure.cause)) {
    return refused->why == AddressFault::kOwnListener ? "" : "ip_allow of the policy lists what is meant to be reached";
  }
  if (const auto* refused = std::get_if<NotAllowed>(&failure.cause)) {
    if (refused->rule.kind == RuleKind::kOrigins) return "origins are exact: scheme, host and port";
  }
  return "";
}

std::string failure_reason(const Failure& failure) {
  Map fields;
  std::visit(Fields{fields}, failure.cause);
  std::string reason;
  for (const Member& field : fields) {
    if (const auto* text = field.second.get_if<std::string>(); text != nullptr && field.first != "to")
      reason += (reason.empty() ? "" : " ") + text->substr(0, 80);
  }
  return reason;
}

Map render_failure(const Failure& failure) {
  const auto* bad = std::get_if<BadRequest>(&failure.cause);
  Map map = {{"code", failure_code(failure)},
             {"message", failure_message(failure)},
             {"where", bad != nullptr ? bad->where : std::string()},
             {"hint", failure_hint(failure)},
             {"stage", render_stage(failure.stage)}};
  std::visit(Fields{map}, failure.cause);
  return map;
}

Error to_error(const Failure& failure) {
  const auto* bad = std::get_if<BadRequest>(&failure.cause);
  return Error{std::string(failure_code(failure)), bad != nullptr ? bad->where : "", failure_message(failure),
               failure_hint(failure)};
}

}  // namespace loom::egress
