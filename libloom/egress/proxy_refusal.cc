#include "egress/proxy_refusal.h"

namespace loom::egress {
namespace {

// No more of a stranger's text than a line may hold.
constexpr std::size_t kMaxAsked = 262;  // a name of 255 bytes, a colon and a port

struct Answers {
  std::string_view code;
  int status;
  SocksReply reply;
};
constexpr Answers kAnswers[] = {
    {"bad_request", 400, SocksReply::kFailure},  {"too_many_tunnels", 503, SocksReply::kFailure},
    {"dns", 502, SocksReply::kHostUnreachable},  {"connect", 502, SocksReply::kRefused},
    {"upstream", 502, SocksReply::kFailure},     {"deadline", 504, SocksReply::kHostUnreachable},
    {"head_timeout", 408, SocksReply::kFailure},
};
constexpr Answers kAnyOther = {"", 403, SocksReply::kNotAllowed};

const Answers& answers_to(const ProxyRefusal& refusal) {
  for (const Answers& each : kAnswers) {
    if (each.code == refusal.code) return each;
  }
  return kAnyOther;
}

}  // namespace

std::string_view render_front(Front front) {
  switch (front) {
    case Front::kConnect:
      return "connect";
    case Front::kForward:
      return "http";
    case Front::kSocks:
      return "socks";
  }
  return "connect";
}

std::string render_asked(std::string_view host, std::string_view port) {
  if (host.empty() && port.empty()) return "";
  std::string text(host);
  if (!port.empty()) text += ":" + std::string(port);
  std::string shown;
  for (const char c : text.substr(0, kMaxAsked)) shown += c > 0x20 && c < 0x7f ? c : '?';
  return shown;
}

int http_status(const ProxyRefusal& refusal) {
  return answers_to(refusal).status;
}
SocksReply socks_reply(const ProxyRefusal& refusal) {
  return answers_to(refusal).reply;
}

std::string render_http_refusal(const ProxyRefusal& refusal, std::string_view asked) {
  std::string body = "loom-egress: ";
  if (!asked.empty()) body += std::string(asked) + " refused: ";
  body += refusal.code + ": " + refusal.what;
  if (!refusal.rule.empty()) body += " (" + refusal.rule + ")";
  body += "\n";
  // The reason stands in the place of the status' words: clients print that line and not the body.
  return "HTTP/1.1 " + std::to_string(http_status(refusal)) + " " + refusal.code +
         "\r\nX-Loom-Reason: " + refusal.code +
         "\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

std::string render_refusal(const ProxyRefusal& refusal, Front front, std::string_view asked) {
  if (front == Front::kSocks) return render_socks_reply(socks_reply(refusal));
  return render_http_refusal(refusal, asked);
}

}  // namespace loom::egress
