#include "egress/response_head.h"

#include <algorithm>

namespace loom::egress {
namespace {

tl::unexpected<Failure> upstream(Words what) {
  return refuse(UpstreamFailed{what}, Stage::kResponse);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The next line without its CR LF.
Outcome<std::string_view> take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos || end == 0 || rest[end - 1] != '\r')
    return upstream("a line of the head does not end in CR LF");
  const std::string_view line = rest.substr(0, end - 1);
  rest.remove_prefix(end + 1);
  if (judge_header_value(line)) return upstream("a control byte in the head");
  return line;
}

// HTTP/1.0 or HTTP/1.1, a blank, three digits, and nothing or a blank and words.
Outcome<unsigned> take_status(std::string_view line, ResponseHead& head) {
  constexpr std::size_t kCode = 9;
  const bool ours = line.substr(0, 9) == "HTTP/1.1 " || line.substr(0, 9) == "HTTP/1.0 ";
  if (!ours || line.size() < kCode + 3 || (line.size() > kCode + 3 && line[kCode + 3] != ' '))
    return upstream("the answer is not HTTP/1");
  const std::string_view code = line.substr(kCode, 3);
  if (!std::all_of(code.begin(), code.end(), is_digit) || code.front() == '0')
    return upstream("the answer's status is no number");
  head.status = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
  if (head.status == 101) return upstream("the answer switches protocols");
  return line[7] == '0' ? 0U : 1U;
}

Outcome<void> take_length(std::string_view text, ResponseHead& head) {
  constexpr std::size_t kMostDigits = 18;  // under 2^63, whatever they are
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit) || text.size() > kMostDigits)
    return upstream("a Content-Length that is no number");
  std::uint64_t length = 0;
  for (const char c : text) length = length * 10 + static_cast<std::uint64_t>(c - '0');
  if (head.length && *head.length != length) return upstream("two Content-Lengths that differ");
  head.length = length;
  return {};
}

Outcome<void> take_header(std::string_view line, ResponseHead& head) {
  if (line.front() == ' ' || line.front() == '\t') return upstream("a folded line in the head");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return upstream("a header whose name is no token");
  const std::string_view value = trim(line.substr(colon + 1));
  head.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  const std::string name = lower_ascii(line.substr(0, colon));
  if (name == "content-length") return take_length(value, head);
  if (name != "transfer-encoding") return {};
  if (head.chunked || lower_ascii(value) != "chunked") return upstream("a Transfer-Encoding that is not chunked alone");
  head.chunked = true;
  return {};
}

}  // namespace

std::vector<std::string> ResponseHead::values(std::string_view lower_name) const {
  std::vector<std::string> all;
  for (const HeaderField& field : headers) {
    if (lower_ascii(field.name) == lower_name) all.push_back(field.value);
  }
  return all;
}

Outcome<ResponseHead> parse_response_head(std::string_view raw) {
  if (raw.size() > kMaxResponseHead) return refuse(ResponseTooLarge{kMaxResponseHead}, Stage::kResponse);
  ResponseHead head;
  auto first = take_line(raw);
  if (!first) return refuse(std::move(first).error());
  const auto minor = take_status(*first, head);
  if (!minor) return refuse(minor.error());
  for (;;) {
    const auto line = take_line(raw);
    if (!line) return refuse(line.error());
    if (line->empty()) break;
    if (auto taken = take_header(*line, head); !taken) return refuse(std::move(taken).error());
  }
  if (!raw.empty()) return upstream("bytes behind the head");
  if (head.chunked && head.length) return upstream("Content-Length with Transfer-Encoding");
  if (head.chunked && *minor == 0) return upstream("Transfer-Encoding in HTTP/1.0");
  return head;
}

}  // namespace loom::egress
