#include "egress/forward.h"

#include <algorithm>
#include <vector>

namespace loom::egress {
namespace {

constexpr unsigned kMaxSizeDigits = 15;

std::vector<std::string_view> elements(std::string_view list) {
  std::vector<std::string_view> found;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    std::string_view element = list.substr(0, comma);
    while (!element.empty() && (element.front() == ' ' || element.front() == '\t')) element.remove_prefix(1);
    while (!element.empty() && (element.back() == ' ' || element.back() == '\t')) element.remove_suffix(1);
    if (!element.empty()) found.push_back(element);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return found;
}

// What frames the body stays whatever Connection says of it: taken away, the body would be read as another request.
bool is_framing(std::string_view name) {
  return same_token(name, "content-length") || same_token(name, "transfer-encoding");
}

bool is_between_hops(std::string_view name) {
  constexpr std::string_view kProxy = "proxy-";
  for (const char* each : {"connection", "keep-alive", "te", "trailer", "upgrade", "host"}) {
    if (same_token(name, each)) return true;
  }
  return same_token(name.substr(0, kProxy.size()), kProxy);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string render_forward_head(const HttpHead& head, const Url& url) {
  std::vector<std::string_view> named;
  for (const auto& [name, value] : head.headers) {
    if (!same_token(name, "connection")) continue;
    for (const std::string_view element : elements(value)) named.push_back(element);
  }
  const auto stays = [&named](std::string_view name) {
    if (is_framing(name)) return true;
    const auto same = [name](std::string_view other) { return same_token(name, other); };
    return !is_between_hops(name) && std::none_of(named.begin(), named.end(), same);
  };
  // Its own scheme's port is left away, as clients do.
  std::string host = render_origin(url.origin);
  host.erase(0, host.find("//") + 2);
  std::string text = head.method + " " + url.target() + " HTTP/1." + std::to_string(head.minor) + "\r\nHost: " + host +
                     "\r\nConnection: close\r\n";
  for (const auto& [name, value] : head.headers) {
    if (stays(name)) text += name + ": " + value + "\r\n";
  }
  return text + "\r\n";
}

BodyGate::BodyGate(const HttpHead& head) {
  switch (head.body) {
    case BodyKind::kNone:
      return;
    case BodyKind::kLength:
      left_ = head.length;
      part_ = left_ == 0 ? Part::kDone : Part::kLength;
      return;
    case BodyKind::kChunked:
      part_ = Part::kSize;
      return;
  }
}

// Where one byte leads to outside of data.
BodyGate::Part BodyGate::after(char c) {
  const auto want = [c](char wanted, Part then) { return c == wanted ? then : Part::kBroken; };
  switch (part_) {
    case Part::kSize: {
      if (c == '\r' && digits_ > 0) return Part::kSizeEnd;
      const int digit = hex_digit(c);
      if (digit < 0 || ++digits_ > kMaxSizeDigits) return Part::kBroken;
      left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
      return Part::kSize;
    }
    case Part::kSizeEnd:
      digits_ = 0;
      return want('\n', left_ == 0 ? Part::kLastEnd : Part::kData);
    case Part::kDataEnd:
      return want('\r', Part::kDataEndLf);
    case Part::kDataEndLf:
      return want('\n', Part::kSize);
    case Part::kLastEnd:
      return want('\r', Part::kLastEndLf);
    case Part::kLastEndLf:
      return want('\n', Part::kDone);
    case Part::kLength:
    case Part::kData:
    case Part::kBroken:
    case Part::kDone:
      return part_;
  }
  return Part::kBroken;
}

Result<std::size_t> BodyGate::admit(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && part_ != Part::kDone) {
    if (part_ == Part::kBroken) return fail("bad_request", "", "a chunk that is malformed");
    if (part_ == Part::kLength || part_ == Part::kData) {
      const std::uint64_t piece = std::min<std::uint64_t>(left_, bytes.size() - taken);
      taken += static_cast<std::size_t>(piece);
      left_ -= piece;
      if (left_ == 0) part_ = part_ == Part::kLength ? Part::kDone : Part::kDataEnd;
      continue;
    }
    part_ = after(bytes[taken++]);
  }
  if (part_ == Part::kBroken) return fail("bad_request", "", "a chunk that is malformed");
  return taken;
}

}  // namespace loom::egress
