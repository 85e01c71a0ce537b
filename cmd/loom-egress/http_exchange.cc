#include "http_exchange.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/json.h"

namespace loom::egress_tool {
namespace {

constexpr Duration kHeadPatience = seconds(10);
constexpr Duration kBodyPatience = seconds(60);
constexpr Duration kAnswerPatience = seconds(30);
constexpr std::uint64_t kMaxDrain = 64U << 20U;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 413:
      return "Payload Too Large";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
  }
  return "Refused";
}

HttpAnswer malformed(const std::string& what) {
  return {400, render_json(Map{{"error", what}, {"code", "bad_request"}, {"stage", "request"}})};
}

// ASCII case is ignored.
bool expects_continue(const egress::HttpHead& head) {
  const std::string* expect = head.header("expect");
  return expect != nullptr && egress::same_token(*expect, "100-continue") && head.minor == 1;
}

}  // namespace

HttpExchange::HttpExchange(Loop& loop, UniqueFd socket, Callbacks callbacks)
    : loop_(loop), socket_(std::move(socket)), callbacks_(std::move(callbacks)) {
  reads_ = loop_.watch(socket_.get(), Readiness::kRead, [this] { readable(); });
  within(kHeadPatience);
}

void HttpExchange::within(Duration patience) {
  patience_ = loop_.timer(loop_.now() + patience, [this] { cut(); });
}

void HttpExchange::readable() {
  std::array<char, 65536> bytes;
  const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) return take({bytes.data(), static_cast<std::size_t>(got)});
  // One who has closed his half may well wait for the answer; one who has sent no whole request gets none.
  ended_ = true;
  reads_.reset();
  if (state_ == State::kHead || state_ == State::kBody || got < 0) return cut();
  maybe_over();
}

void HttpExchange::take(std::string_view bytes) {
  switch (state_) {
    case State::kHead:
      in_ += bytes;
      return take_head();
    case State::kBody:
      in_ += bytes;
      return take_body();
    case State::kWaiting:
    case State::kAnswering:
      return drained(bytes.size());
    case State::kOver:
      return;
  }
}

void HttpExchange::take_head() {
  auto end = egress::find_head_end(in_, scanned_);
  scanned_ = in_.size();
  if (end && !*end) return;
  auto head = end ? egress::parse_http_head(std::string_view(in_).substr(0, **end)) : fail(end.error());
  if (!head) {
    to_drain_ = kMaxDrain;
    return answer(malformed(head.error().what));
  }
  in_.erase(0, **end);
  length_ = head->body == egress::BodyKind::kLength ? head->length : 0;
  const bool chunked = head->body == egress::BodyKind::kChunked;
  auto refused = callbacks_.head(*head);
  if (!refused && chunked) refused = malformed("a call has a Content-Length");
  if (refused) {
    const std::uint64_t rest = length_ - std::min<std::uint64_t>(length_, in_.size());
    to_drain_ = chunked ? kMaxDrain : std::min(rest, kMaxDrain);
    in_.clear();
    return answer(*refused);
  }
  state_ = State::kBody;
  within(kBodyPatience);
  if (in_.size() < length_ && expects_continue(*head)) {
    // A few bytes into an empty socket: what does not fit is no loss, the caller sends its body without.
    (void)::send(socket_.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  take_body();
}

void HttpExchange::take_body() {
  if (in_.size() < length_) return;
  std::string body = std::exchange(in_, {});
  body.resize(length_);
  state_ = State::kWaiting;
  patience_.reset();
  reads_.reset();
  callbacks_.body(std::move(body));
}

void HttpExchange::answer(const HttpAnswer& answer) {
  if (state_ == State::kAnswering || state_ == State::kOver) return;
  state_ = State::kAnswering;
  out_ = "HTTP/1.1 " + std::to_string(answer.status) + " " + std::string(reason_of(answer.status)) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(answer.body.size() + 1) +
         "\r\nConnection: close\r\n\r\n" + answer.body + "\n";
  within(kAnswerPatience);
  writable();
}

void HttpExchange::writable() {
  while (written_ < out_.size()) {
    const ssize_t sent = ::send(socket_.get(), out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
      if (!writes_) writes_ = loop_.watch(socket_.get(), Readiness::kWrite, [this] { writable(); });
      return;
    }
    if (sent <= 0) return cut();
    written_ += static_cast<std::size_t>(sent);
    within(kAnswerPatience);
  }
  writes_.reset();
  ::shutdown(socket_.get(), SHUT_WR);
  maybe_over();
}

void HttpExchange::drained(std::size_t bytes) {
  to_drain_ -= std::min<std::uint64_t>(to_drain_, bytes);
  maybe_over();
}

// Over when the answer is written and nothing of the request can come any more.
void HttpExchange::maybe_over() {
  if (state_ == State::kAnswering && written_ == out_.size() && (ended_ || to_drain_ == 0)) cut();
}

void HttpExchange::cut() {
  if (std::exchange(state_, State::kOver) == State::kOver) return;
  patience_.reset();
  reads_.reset();
  writes_.reset();
  socket_.reset();
  loop_.post([over = std::move(callbacks_.over)] { over(); });
}

}  // namespace loom::egress_tool
