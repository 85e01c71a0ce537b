// Any bytes as an HTTP head, in pieces as well: the same end is found, and a head that is taken has none of what two
// readers could take differently. The first byte says how large the pieces are.
#include "egress/http_head.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

std::string in_pieces(std::string_view bytes, std::size_t piece) {
  for (std::size_t seen = 0; seen < bytes.size();) {
    const std::size_t more = std::min(seen + piece, bytes.size());
    const auto end = loom::egress::find_head_end(bytes.substr(0, more), seen);
    if (!end) return end.error().what;
    if (*end) return std::to_string(**end);
    seen = more;
  }
  return "more";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = in_pieces(bytes, bytes.size() + 1);
  demand(in_pieces(bytes, data[0] + 1U) == whole);
  const auto end = loom::egress::find_head_end(bytes);
  if (!end || !*end) return 0;
  const std::string_view raw = bytes.substr(0, **end);
  const auto head = loom::egress::parse_http_head(raw);
  if (!head) {
    demand(head.error().code == "bad_request" && !head.error().what.empty());
    return 0;
  }
  demand(raw.size() <= loom::egress::kMaxHeadBytes && !head->method.empty() && !head->target.empty());
  for (std::size_t at = raw.find('\n'); at != std::string_view::npos; at = raw.find('\n', at + 1)) {
    demand(at > 0 && raw[at - 1] == '\r');
    demand(at + 1 == raw.size() || (raw[at + 1] != ' ' && raw[at + 1] != '\t'));
  }
  for (const char c : head->target) demand(c > 0x20 && c < 0x7f);
  std::size_t framings = 0;
  for (const auto& [name, value] : head->headers) {
    if (loom::egress::same_token(name, "content-length") || loom::egress::same_token(name, "transfer-encoding"))
      ++framings;
  }
  demand(framings == (head->body == loom::egress::BodyKind::kNone ? 0U : 1U));
  return 0;
}
