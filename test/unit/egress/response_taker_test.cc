#include "egress/response_taker.h"

#include <gtest/gtest.h>

namespace loom::egress {
namespace {

// Takes a head line by line; whether all of it was taken.
bool takes(ResponseTaker& taker, std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n') + 1;
    if (!taker.take_line(head.substr(0, end))) return false;
    head.remove_prefix(end);
  }
  return true;
}
std::string stopped(const ResponseTaker& taker) {
  if (!taker.failure()) return "";
  return std::string(failure_code(*taker.failure())) + " " + std::string(render_stage(taker.failure()->stage));
}

TEST(ResponseTaker, TakesHeadThenBodyAndHandsBothOver) {
  ResponseTaker taker(Method::kGet, 10);
  EXPECT_FALSE(taker.has_head());
  EXPECT_TRUE(takes(taker, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));
  EXPECT_TRUE(taker.has_head());
  EXPECT_TRUE(taker.take_body("ab"));
  EXPECT_TRUE(taker.take_body(""));
  EXPECT_TRUE(taker.take_body("cde"));
  const auto whole = taker.finish(false);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->head.status, 200);
  EXPECT_EQ(whole->body, "abcde");
}

TEST(ResponseTaker, PassesOverInterimHeadsAndTrailers) {
  ResponseTaker taker(Method::kGet, 10);
  EXPECT_TRUE(takes(taker, "HTTP/1.1 103 Early\r\nA: 1\r\n\r\n"));
  EXPECT_FALSE(taker.has_head());
  EXPECT_TRUE(takes(taker, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_TRUE(taker.take_body("abc"));
  EXPECT_TRUE(takes(taker, "B: 2\r\n\r\n"));
  const auto whole = taker.finish(false);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->head.headers.size(), 1U);
}

TEST(ResponseTaker, CountsTheBodyAsItArrivesAndWhatIsAnnounced) {
  ResponseTaker announced(Method::kGet, 10);
  EXPECT_FALSE(takes(announced, "HTTP/1.1 500 No\r\nContent-Length: 11\r\n\r\n"));
  EXPECT_EQ(stopped(announced), "response_too_large response");
  ResponseTaker arriving(Method::kGet, 10);
  EXPECT_TRUE(takes(arriving, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_TRUE(arriving.take_body("0123456789"));
  EXPECT_TRUE(arriving.take_body(""));
  EXPECT_FALSE(arriving.take_body("x"));
  EXPECT_EQ(stopped(arriving), "response_too_large body");
  EXPECT_FALSE(arriving.finish(true));
  ResponseTaker none(Method::kGet, 0);
  EXPECT_TRUE(takes(none, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(none.take_body("x"));
}

TEST(ResponseTaker, WhatHasNoBodyMayAnnounceOne) {
  ResponseTaker head(Method::kHead, 10);
  EXPECT_TRUE(takes(head, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"));
  EXPECT_TRUE(head.finish(false));
  ResponseTaker unchanged(Method::kGet, 10);
  EXPECT_TRUE(takes(unchanged, "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n"));
  EXPECT_TRUE(unchanged.finish(false));
}

TEST(ResponseTaker, CountsAllHeadsOfOneAnswerTogether) {
  ResponseTaker taker(Method::kGet, 10);
  const std::string interim = "HTTP/1.1 100 Continue\r\nA: " + std::string(8000, 'x') + "\r\n\r\n";
  int taken = 0;
  while (takes(taker, interim)) ++taken;
  EXPECT_EQ(taken, 8);
  EXPECT_EQ(stopped(taker), "response_too_large response");
  ResponseTaker trailing(Method::kGet, 10);
  EXPECT_TRUE(takes(trailing, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  taken = 0;
  while (takes(trailing, "A: " + std::string(8000, 'x') + "\r\n")) ++taken;
  EXPECT_EQ(taken, 8);
}

TEST(ResponseTaker, StopsAtAHeadThatIsRefusedAndAtABodyBeforeOne) {
  ResponseTaker taker(Method::kGet, 10);
  EXPECT_FALSE(takes(taker, "HTTP/1.1 200 OK\r\nA: b\n\n"));
  EXPECT_EQ(stopped(taker), "upstream response");
  ResponseTaker early(Method::kGet, 10);
  EXPECT_FALSE(early.take_body("x"));
  EXPECT_EQ(stopped(early), "upstream body");
}

TEST(ResponseTaker, ABodyWithoutALengthEndsInGoodOrderOrNotAtAll) {
  for (const bool in_good_order : {true, false}) {
    ResponseTaker taker(Method::kGet, 10);
    EXPECT_TRUE(takes(taker, "HTTP/1.1 200 OK\r\n\r\n"));
    EXPECT_TRUE(taker.take_body("abc"));
    EXPECT_EQ(taker.finish(in_good_order).has_value(), in_good_order);
  }
  EXPECT_FALSE(ResponseTaker(Method::kGet, 10).finish(true));
}

}  // namespace
}  // namespace loom::egress
