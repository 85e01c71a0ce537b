#include "egress/http_head.h"

#include <algorithm>

#include "egress/http_beast.h"

namespace loom::egress {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

tl::unexpected<Error> bad_request(std::string what) {
  return fail("bad_request", "", std::move(what));
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_token_byte(char c) {
  return is_digit(c) || is_alpha(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_target_byte(char c) {
  return c > 0x20 && c < 0x7f;
}
bool is_value_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Status parse_request_line(std::string_view line, HttpHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return bad_request("no request line of method, target, version");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_http_token(method)) return bad_request("a method that is no token");
  if (target.empty() || !std::all_of(target.begin(), target.end(), is_target_byte))
    return bad_request("a target with bytes that a target may not hold");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad_request("a version other than HTTP/1.0 and HTTP/1.1");
  head.method = method;
  head.target = target;
  head.minor = version.back() == '1' ? 1 : 0;
  return {};
}

Status parse_header_line(std::string_view line, HttpHead& head) {
  if (is_blank(line.front())) return bad_request("a folded header line");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return bad_request("a header line without a colon");
  const std::string_view name = line.substr(0, colon);
  if (!is_http_token(name)) return bad_request("a header name that is no token");
  const std::string_view value = without_blanks(line.substr(colon + 1));
  if (!std::all_of(value.begin(), value.end(), is_value_byte))
    return bad_request("a control character in a header's value");
  head.headers.emplace_back(name, value);
  return {};
}

Result<std::uint64_t> parse_length(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  if (text.empty() || text.size() > kMostDigits || !std::all_of(text.begin(), text.end(), is_digit))
    return bad_request("a Content-Length that is no count of bytes");
  std::uint64_t length = 0;
  for (const char c : text) length = length * 10 + static_cast<std::uint64_t>(c - '0');
  return length;
}

std::size_t count(const HttpHead& head, std::string_view name) {
  const auto named = [name](const auto& header) { return same_token(header.first, name); };
  return static_cast<std::size_t>(std::count_if(head.headers.begin(), head.headers.end(), named));
}

Status judge_framing(HttpHead& head) {
  const std::size_t lengths = count(head, "content-length");
  const std::size_t codings = count(head, "transfer-encoding");
  if (count(head, "host") > 1) return bad_request("two Host headers");
  if (lengths > 1) return bad_request("two Content-Length headers");
  if (lengths > 0 && codings > 0) return bad_request("Content-Length together with Transfer-Encoding");
  if (codings > 1) return bad_request("two Transfer-Encoding headers");
  if (lengths == 1) {
    LOOM_TRY(head.length, parse_length(*head.header("content-length")));
    head.body = BodyKind::kLength;
  }
  if (codings == 1) {
    if (head.minor == 0) return bad_request("a Transfer-Encoding in HTTP/1.0");
    if (!same_token(*head.header("transfer-encoding"), "chunked"))
      return bad_request("a Transfer-Encoding that is not exactly chunked");
    head.body = BodyKind::kChunked;
  }
  return {};
}

}  // namespace

bool is_http_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_byte);
}

bool same_token(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (same_token(key, name)) return &value;
  }
  return nullptr;
}

Result<std::optional<std::size_t>> find_head_end(std::string_view bytes, std::size_t scanned) {
  const std::string_view seen = bytes.substr(0, kMaxHeadBytes);
  for (std::size_t at = scanned; at < seen.size(); ++at) {
    const char c = seen[at];
    if (c == '\0') return bad_request("a NUL in the head");
    if (c == '\n' && (at == 0 || seen[at - 1] != '\r')) return bad_request("a line that ends in a bare LF");
    if (c != '\n' && at > 0 && seen[at - 1] == '\r') return bad_request("a CR that ends no line");
    if (c == '\n' && at == 1) return bad_request("an empty line in place of a request");
    if (c == '\n' && at >= 3 && seen.substr(at - 3, 2) == kLineEnd) return std::optional<std::size_t>(at + 1);
  }
  if (bytes.size() >= kMaxHeadBytes) return bad_request("a head over 16 KiB");
  return std::optional<std::size_t>();
}

Result<HttpHead> parse_http_head(std::string_view raw) {
  LOOM_TRY(const auto end, find_head_end(raw));
  if (!end || *end != raw.size()) return bad_request("a head that is cut short or followed by something");
  HttpHead head;
  bool first = true;
  for (std::string_view rest = raw.substr(0, raw.size() - kLineEnd.size()); !rest.empty();) {
    const std::size_t length = rest.find(kLineEnd);
    const std::string_view line = rest.substr(0, length);
    LOOM_CHECK(first ? parse_request_line(line, head) : parse_header_line(line, head));
    first = false;
    rest.remove_prefix(length + kLineEnd.size());
  }
  LOOM_CHECK(judge_framing(head));
  LOOM_CHECK(beast_agrees(raw, head));
  return head;
}

}  // namespace loom::egress
