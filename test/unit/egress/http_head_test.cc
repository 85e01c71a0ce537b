#include "egress/http_head.h"

#include <gtest/gtest.h>

namespace loom::egress {
namespace {

// What is wrong with a head, or "" when it is taken.
std::string fault(std::string_view raw) {
  const auto head = parse_http_head(raw);
  if (head) return "";
  EXPECT_EQ(head.error().code, "bad_request") << raw;
  EXPECT_EQ(head.error().where, "") << raw;
  return head.error().what;
}

HttpHead parsed(std::string_view raw) {
  auto head = parse_http_head(raw);
  EXPECT_TRUE(head) << raw << (head ? "" : head.error().what);
  return head.value_or(HttpHead());
}

TEST(HttpHead, a_connect_is_taken_with_and_without_headers) {
  const HttpHead head =
      parsed("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nUser-Agent:\tcurl/8 \r\nX:\r\n\r\n");
  EXPECT_EQ(head.method, "CONNECT");
  EXPECT_EQ(head.target, "example.org:443");
  EXPECT_EQ(head.minor, 1U);
  ASSERT_EQ(head.headers.size(), 3U);
  EXPECT_EQ(*head.header("host"), "example.org:443");
  EXPECT_EQ(*head.header("USER-AGENT"), "curl/8");
  EXPECT_EQ(*head.header("x"), "");
  EXPECT_EQ(head.header("absent"), nullptr);
  EXPECT_EQ(parsed("CONNECT a.test:443 HTTP/1.0\r\n\r\n").minor, 0U);
}

TEST(HttpHead, a_header_may_come_twice_with_others_between) {
  const HttpHead head = parsed("GET http://a.test/ HTTP/1.1\r\nX: 1\r\nHost: a.test\r\nx: 2\r\nX: 0\r\n\r\n");
  ASSERT_EQ(head.headers.size(), 4U);
  EXPECT_EQ(head.headers[1].first, "Host");
}

TEST(HttpHead, values_may_hold_latin_1_and_targets_may_not) {
  EXPECT_EQ(*parsed("GET http://a.test/ HTTP/1.1\r\nX: caf\xe9\r\n\r\n").header("x"), "caf\xe9");
  EXPECT_NE(fault("GET http://a.test/caf\xe9 HTTP/1.1\r\n\r\n"), "");
}

TEST(HttpHead, the_framing_is_read) {
  const HttpHead length = parsed("POST http://a.test/ HTTP/1.1\r\nContent-Length: 12\r\n\r\n");
  EXPECT_EQ(length.body, BodyKind::kLength);
  EXPECT_EQ(length.length, 12U);
  EXPECT_EQ(parsed("POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n").body, BodyKind::kChunked);
  EXPECT_EQ(parsed("GET http://a.test/ HTTP/1.1\r\n\r\n").body, BodyKind::kNone);
}

TEST(HttpHead, what_two_readers_could_take_differently_is_refused) {
  const std::string line = "POST http://a.test/ HTTP/1.1\r\n";
  for (const char* headers : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                              "Content-Length: 5\r\nContent-Length: 6\r\n",
                              "Content-Length: 5\r\nContent-Length: 5\r\n",
                              "Content-Length: 5, 5\r\n",
                              "Content-Length: +5\r\n",
                              "Content-Length: 0x5\r\n",
                              "Content-Length:\r\n",
                              "Content-Length: 9999999999999999999\r\n",
                              "Transfer-Encoding: gzip, chunked\r\n",
                              "Transfer-Encoding: chunked, chunked\r\n",
                              "Transfer-Encoding: identity\r\n",
                              "Transfer-Encoding: \013chunked\r\n",
                              "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                              "Host: a.test\r\nhost: a.test\r\n",
                              "X: a\r\n folded\r\n",
                              "X: a\r\n\tfolded\r\n",
                              " X: a\r\n",
                              "X: a\nY: b\r\n",
                              "X: a\rY: b\r\n",
                              "X : a\r\n",
                              "X\r\n",
                              ": a\r\n",
                              "X\x01: a\r\n",
                              "X\xe9: a\r\n",
                              "X: a\x7f\r\n",
                              "X: a\x1b[31m\r\n"})
    EXPECT_NE(fault(line + headers + "\r\n"), "") << headers;
  EXPECT_NE(fault("POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), "");
  EXPECT_NE(fault(line + std::string("X: a\0b\r\n\r\n", 10)), "");
}

TEST(HttpHead, a_request_line_has_one_form) {
  for (const char* line :
       {"CONNECT a.test:443\r\n", "CONNECT  a.test:443 HTTP/1.1\r\n", "CONNECT a.test:443  HTTP/1.1\r\n",
        "CONNECT a.test:443 HTTP/1.1 \r\n", " CONNECT a.test:443 HTTP/1.1\r\n", "CONNECT\ta.test:443\tHTTP/1.1\r\n",
        "CONNECT a.test:443 HTTP/2.0\r\n", "CONNECT a.test:443 HTTP/1.2\r\n", "CONNECT a.test:443 http/1.1\r\n",
        "CONNECT a.test:443 HTTP/1.10\r\n", "CONNECT a\x7f.test:443 HTTP/1.1\r\n", "C@NNECT a.test:443 HTTP/1.1\r\n",
        "CONNECT  HTTP/1.1\r\n", "x\r\n", "\r\n", "\r\nCONNECT a.test:443 HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n"})
    EXPECT_NE(fault(std::string(line) + "\r\n"), "") << line;
}

TEST(HttpHead, the_end_is_found_in_pieces_and_what_follows_is_left_alone) {
  const std::string head = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
  for (std::size_t size = 0; size < head.size(); ++size) {
    const auto end = find_head_end(head.substr(0, size), size > 0 ? size - 1 : 0);
    ASSERT_TRUE(end) << size;
    EXPECT_FALSE(end->has_value()) << size;
  }
  EXPECT_EQ(find_head_end(head, head.size() - 1).value(), head.size());
  EXPECT_EQ(find_head_end(head + "body\n").value(), head.size());
  EXPECT_NE(fault(head + "x"), "");
  EXPECT_NE(fault(head.substr(0, head.size() - 1)), "");
}

TEST(HttpHead, sixteen_kibibytes_are_taken_and_one_more_is_not) {
  const std::string begin = "GET http://a.test/ HTTP/1.1\r\nX: ";
  const std::string fits = begin + std::string(kMaxHeadBytes - begin.size() - 4, 'x') + "\r\n\r\n";
  ASSERT_EQ(fits.size(), kMaxHeadBytes);
  EXPECT_EQ(fault(fits), "");
  const std::string over = begin + std::string(kMaxHeadBytes - begin.size() - 3, 'x') + "\r\n\r\n";
  EXPECT_FALSE(find_head_end(over));
  EXPECT_FALSE(find_head_end(over.substr(0, kMaxHeadBytes)));
  EXPECT_TRUE(find_head_end(over.substr(0, kMaxHeadBytes - 1)));
}

}  // namespace
}  // namespace loom::egress
