#include "egress/response_patch.h"

#include <utility>

#include "egress/http_head.h"

namespace loom::egress {
namespace {

constexpr std::size_t kMaxResponseHead = 64U << 10U;
constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kLine = "\r\n";

bool is_about_connection(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  return same_token(name, "connection") || same_token(name, "keep-alive") || same_token(name, "proxy-connection");
}

// An interim answer is followed by another; 101 is not: the proxy asks for no upgrade.
bool is_interim(std::string_view head) {
  return head.substr(0, 7) == "HTTP/1." && head.substr(8, 2) == " 1" && head.substr(8, 4) != " 101";
}

std::string patched(std::string_view head) {
  std::string text;
  for (bool first = true; head != kLine; first = false) {
    const std::size_t end = head.find(kLine) + kLine.size();
    const std::string_view line = head.substr(0, end);
    if (first || !is_about_connection(line)) text += line;
    if (first) text += "Connection: close\r\n";
    head.remove_prefix(end);
  }
  return text + std::string(kLine);
}

}  // namespace

// In one pass over what came: an upstream may send interim answers by the thousand.
std::string ResponsePatch::pass(std::string_view bytes) {
  if (done_) return std::string(bytes);
  std::size_t from = head_.size() < kEnd.size() ? 0 : head_.size() - kEnd.size();
  head_ += bytes;
  std::size_t begin = 0;  // of the head that is under way
  for (;;) {
    const std::size_t end = head_.find(kEnd, from);
    if (end == std::string::npos) {
      std::string interim = head_.substr(0, begin);
      head_.erase(0, begin);
      return head_.size() > kMaxResponseHead ? interim + rest() : interim;
    }
    const std::size_t behind = end + kEnd.size();
    const std::string_view head = std::string_view(head_).substr(begin, behind - begin);
    if (is_interim(head)) {
      from = begin = behind;
      continue;
    }
    if (head.substr(0, 7) != "HTTP/1.") return rest();
    std::string all = head_.substr(0, begin) + patched(head) + head_.substr(behind);
    done_ = true;
    head_.clear();
    return all;
  }
}

std::string ResponsePatch::rest() {
  done_ = true;
  return std::exchange(head_, {});
}

}  // namespace loom::egress
