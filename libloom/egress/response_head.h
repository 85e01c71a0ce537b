// The head of a response, judged on its raw bytes before any of its body is taken (spec/egress.md "Transfer"): libcurl
// is laxer than we are. Refused: a line that does not end in CR LF, folded lines, control bytes, a name that is no
// token, two Content-Lengths that differ or one that is no number, Content-Length with Transfer-Encoding, any
// Transfer-Encoding but exactly chunked (and any at all of HTTP/1.0), a switch of protocols. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/failure.h"
#include "egress/headers.h"

namespace loom::egress {

inline constexpr std::size_t kMaxResponseHead = 64U
                                                << 10U;  // all heads of one answer, the interim ones and trailers too

struct ResponseHead {
  int status = 0;
  std::vector<HeaderField> headers;  // as sent, in order, values without the blanks round them
  std::optional<std::uint64_t> length;
  bool chunked = false;

  [[nodiscard]] bool interim() const { return status < 200; }
  // The values of every header of that name (lower case).
  [[nodiscard]] std::vector<std::string> values(std::string_view lower_name) const;
};

// `raw` is one whole head, its empty line included. Failure, at the stage response: upstream.
[[nodiscard]] Outcome<ResponseHead> parse_response_head(std::string_view raw);

}  // namespace loom::egress
