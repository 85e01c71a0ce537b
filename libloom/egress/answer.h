// What the caller of a brokered request hears (spec/egress.md "The answer"): {status, headers, body, bytes, sha256,
// hops, timing}. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "egress/addresses.h"
#include "egress/failure.h"
#include "egress/policy_document.h"
#include "egress/reflection.h"
#include "egress/response_head.h"
#include "egress/url.h"

namespace loom::egress {

// In milliseconds. The whole, and its parts: connect, tls and response (from the request sent to the head received) are
// those of the last hop.
struct Timing {
  std::uint64_t resolve_ms = 0;
  std::uint64_t connect_ms = 0;
  std::uint64_t tls_ms = 0;
  std::uint64_t response_ms = 0;
  std::uint64_t total_ms = 0;
};

struct Answer {
  int status = 0;
  std::vector<HeaderField> headers;  // those the policy lists, names in lower case, in the order they came
  std::string body;                  // as sent, but for a reflected secret; never decoded
  bool scrubbed = false;             // a reflected secret was replaced, in a header or in the body
  unsigned hops = 0;                 // redirects followed
  Url url;                           // of the last hop, without a reflected secret
  Address address;                   // it was sent to
  Timing timing;
};

// The last response of a chain as an answer: headers by the policy's list, reflected secrets replaced. Failure, at the
// stage body: upstream, for a binary or compressed body that reflects one, and for one that is coded so that it cannot
// be seen (when there is a secret to look for).
[[nodiscard]] Outcome<Answer> compose_answer(const EgressPolicy& policy, const Reflection& secret, ResponseHead head,
                                             std::string body);

// The URL of the last hop as an answer and a record may hold it: an upstream may have put the secret into a Location.
[[nodiscard]] Url url_without(const Reflection& secret, const Url& url);

// A header that came more than once is an array of its values. The body is text when it is UTF-8, else
// {"base64": ...}; `bytes` and `sha256` are those of the body handed over.
[[nodiscard]] Map render_answer(const Answer& answer);

}  // namespace loom::egress
