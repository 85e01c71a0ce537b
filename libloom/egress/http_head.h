// The head of one HTTP/1 request, judged on its raw bytes before anything acts on it (spec/egress.md "The proxy": what
// Boost.Beast lets pass). Pure. Every error is bad_request with an empty place: answer 400 and close.
// Refused: a line that does not end in CR LF, folded lines, controls, a target with anything but 0x21..0x7e, two Hosts,
// two Content-Lengths, Content-Length with Transfer-Encoding, any Transfer-Encoding but exactly chunked, or any at all
// in HTTP/1.0. What is accepted is read a second time by Beast (http_beast.cc); a difference refuses, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace loom::egress {

inline constexpr std::size_t kMaxHeadBytes = 16U << 10U;

enum class BodyKind { kNone, kLength, kChunked };

struct HttpHead {
  std::string method;
  std::string target;
  unsigned minor = 1;                                        // HTTP/1.0 or 1.1
  std::vector<std::pair<std::string, std::string>> headers;  // as sent, values without the blanks round them
  BodyKind body = BodyKind::kNone;
  std::uint64_t length = 0;  // of kLength

  // The value of a header, whatever the case of its name. Of several, the first.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

// How many bytes of `bytes` the head takes, its empty line included; nothing while more is needed. Error: too long, or
// bytes that no head may hold, as soon as they are there. `scanned` says how many bytes an earlier call has seen, so
// that a head that comes byte by byte costs no more than one that comes whole.
[[nodiscard]] Result<std::optional<std::size_t>> find_head_end(std::string_view bytes, std::size_t scanned = 0);
// `raw` is exactly one head.
[[nodiscard]] Result<HttpHead> parse_http_head(std::string_view raw);

[[nodiscard]] bool is_http_token(std::string_view text);
// ASCII case is ignored.
[[nodiscard]] bool same_token(std::string_view a, std::string_view b);

}  // namespace loom::egress
