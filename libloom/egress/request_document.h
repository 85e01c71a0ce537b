// The document that describes one request: R of spec/egress.md "Documents". `url` is required, and `method`; `headers`,
// `body` and `credential` may be absent. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "egress/headers.h"
#include "egress/url.h"

namespace loom::egress {

struct Request {
  Url url;
  std::string method;  // as given: the judge says which are let
  std::vector<HeaderField> headers;
  std::string body;
  bool has_body = false;
  std::optional<std::string> credential;
  friend bool operator==(const Request&, const Request&) = default;
};

inline constexpr std::size_t kMaxHeaders = 64;
inline constexpr std::size_t kMaxHeaderBytes = 16U << 10U;  // names and values together

// A request whose URL has not been read yet: whoever judges in steps (egress/door.h) asks in between.
struct Draft {
  Request request;
  std::string url;
};
// First the document, then the syntax of the headers. Failures, at the stage request: bad_request, header_refused.
// `max_bytes` bounds the document, not the body in it.
[[nodiscard]] Outcome<Draft> decode_draft(std::string_view json, std::size_t max_bytes = 64U << 20U);
// And then the URL. Failures, at the stage request: bad_request, host_syntax; at the stage policy: not_allowed (http).
[[nodiscard]] Outcome<Request> with_url(Draft draft);
[[nodiscard]] Outcome<Request> decode_request(std::string_view json, std::size_t max_bytes = 64U << 20U);

}  // namespace loom::egress
