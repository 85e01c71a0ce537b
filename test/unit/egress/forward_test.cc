#include "egress/forward.h"

#include <gtest/gtest.h>

namespace loom::egress {
namespace {

// What passes of these bytes, "+" when the body is done; "refused".
std::string passes(const HttpHead& head, std::string_view bytes) {
  BodyGate gate(head);
  const auto admitted = gate.admit(bytes);
  if (!admitted) return "refused";
  return std::string(bytes.substr(0, *admitted)) + (gate.done() ? "+" : "");
}
HttpHead of_length(std::uint64_t length) {
  HttpHead head;
  head.body = BodyKind::kLength;
  head.length = length;
  return head;
}
HttpHead chunked() {
  HttpHead head;
  head.body = BodyKind::kChunked;
  return head;
}

TEST(BodyGate, a_body_goes_as_far_as_its_head_framed_it) {
  EXPECT_EQ(passes(HttpHead(), "GET / HTTP/1.1"), "+");
  EXPECT_EQ(passes(of_length(0), "x"), "+");
  EXPECT_EQ(passes(of_length(3), "abcd"), "abc+");
  EXPECT_EQ(passes(of_length(3), "ab"), "ab");
  EXPECT_EQ(passes(chunked(), "3\r\nabc\r\n00\r\n\r\nGET /"), "3\r\nabc\r\n00\r\n\r\n+");
  EXPECT_EQ(passes(chunked(), "A\r\n0123456789\r\n"), "A\r\n0123456789\r\n");
}

TEST(BodyGate, chunks_that_two_readers_could_take_differently_are_refused) {
  for (const char* bytes : {"3;x=y\r\nabc\r\n", "3\nabc\n", "3 \r\nabc", " 3\r\nabc", "0x3\r\nabc", "\r\n", "-1\r\n",
                            "g\r\n", "3\r\nabcd\r\n", "3\r\nabc\n", "0\r\nTrailer: x\r\n\r\n", "0\r\n\n", "3\r\r\n",
                            "fffffffffffffffff\r\n", "0000000000000003\r\nabc"})
    EXPECT_EQ(passes(chunked(), bytes), "refused") << bytes;
}

std::string forwarded(std::string_view raw) {
  const HttpHead head = parse_http_head(raw).value();
  return render_forward_head(head, parse_url(head.target, Schemes::kHttpsAndHttp).value());
}

TEST(ForwardHead, what_is_between_the_client_and_the_proxy_stays_there) {
  EXPECT_EQ(
      forwarded("GET http://a.test:80?x HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nProxy-Connection: keep-alive\r\n"
                "Keep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nCookie: "
                "c\r\n\r\n"),
      "GET /?x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nAccept: */*\r\nCookie: c\r\n\r\n");
}

TEST(ForwardHead, the_framing_stays_whatever_connection_says_of_it) {
  EXPECT_EQ(forwarded("POST http://[2001:db8::1]:81/ HTTP/1.1\r\nHost: x\r\nConnection: Transfer-Encoding\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"),
            "POST / HTTP/1.1\r\nHost: [2001:db8::1]:81\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
}

}  // namespace
}  // namespace loom::egress
