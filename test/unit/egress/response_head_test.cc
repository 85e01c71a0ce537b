#include "egress/response_head.h"

#include <gtest/gtest.h>

namespace loom::egress {
namespace {

std::string word(const Outcome<ResponseHead>& head) {
  if (head) return "fine";
  if (failure_code(head.error()) != "upstream") return std::string(failure_code(head.error()));
  return std::string(std::get<UpstreamFailed>(head.error().cause).what.text());
}
std::string judged(const std::string& raw) {
  return word(parse_response_head(raw));
}

TEST(ResponseHead, HoldsStatusHeadersAndLengthAsSent) {
  const auto head =
      parse_response_head("HTTP/1.1 404 Not Found\r\nX-A:  one two\t\r\ncontent-LENGTH: 12\r\nx-a: \r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 404);
  EXPECT_EQ(head->headers, (std::vector<HeaderField>{{"X-A", "one two"}, {"content-LENGTH", "12"}, {"x-a", ""}}));
  EXPECT_EQ(head->length, 12U);
  EXPECT_FALSE(head->chunked);
  EXPECT_EQ(head->values("x-a"), (std::vector<std::string>{"one two", ""}));
}

TEST(ResponseHead, TakesAStatusLineWithoutWordsAndOldHttp) {
  EXPECT_EQ(judged("HTTP/1.1 200\r\n\r\n"), "fine");
  EXPECT_EQ(judged("HTTP/1.1 200 \r\n\r\n"), "fine");
  EXPECT_EQ(judged("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n"), "fine");
  EXPECT_EQ(judged("HTTP/1.1 200 \xc3\xa9t\xe9\r\n\r\n"), "fine");
}

TEST(ResponseHead, RefusesWhatIsNoStatusLine) {
  for (const char* line : {"HTTP/2 200", "HTTP/2.0 200 OK", "HTTP/1.2 200 OK", "http/1.1 200 OK", "HTTP/1.1  200 OK",
                           "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "ICY 200 OK", "", "HTTP/1.1", "HTTP/1.1 "})
    EXPECT_EQ(judged(std::string(line) + "\r\n\r\n"), "the answer is not HTTP/1") << line;
  for (const char* line : {"HTTP/1.1 2x0 OK", "HTTP/1.1 -20 OK", "HTTP/1.1 099 OK"})
    EXPECT_EQ(judged(std::string(line) + "\r\n\r\n"), "the answer's status is no number") << line;
  EXPECT_EQ(judged("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"), "the answer switches protocols");
}

TEST(ResponseHead, KnowsAnInterimAnswer) {
  EXPECT_TRUE(parse_response_head("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")->interim());
  EXPECT_FALSE(parse_response_head("HTTP/1.1 200 OK\r\n\r\n")->interim());
}

TEST(ResponseHead, RefusesLinesThatDoNotEndInCrLf) {
  const std::string what = "a line of the head does not end in CR LF";
  EXPECT_EQ(judged("HTTP/1.1 200 OK\nA: b\r\n\r\n"), what);
  EXPECT_EQ(judged("HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n"), what);
  EXPECT_EQ(judged("HTTP/1.1 200 OK\r\nA: b\r\n\n"), what);
  EXPECT_EQ(judged("HTTP/1.1 200 OK\r\nA: b\r\n"), what);
  EXPECT_EQ(judged("HTTP/1.1 200 OK"), what);
  EXPECT_EQ(judged(""), what);
  EXPECT_EQ(judged("\n"), what);
}

TEST(ResponseHead, RefusesControlsAndFoldedLines) {
  using namespace std::string_literals;
  for (const std::string& bad : {"A: b\rc"s, "A: b\0c"s, "A: b\x7f"s, "A: \x1b[2J"s, "A\0: b"s})
    EXPECT_EQ(judged("HTTP/1.1 200 OK\r\n" + bad + "\r\n\r\n"), "a control byte in the head");
  for (const std::string& bad : {"A: b\r\n c"s, "A: b\r\n\tc"s, " A: b"s})
    EXPECT_EQ(judged("HTTP/1.1 200 OK\r\n" + bad + "\r\n\r\n"), "a folded line in the head");
}

TEST(ResponseHead, RefusesANameThatIsNoToken) {
  for (const char* bad : {"A b: c", "A : c", ": c", "no colon", "A\xe9: c", "(a): c"})
    EXPECT_EQ(judged("HTTP/1.1 200 OK\r\n" + std::string(bad) + "\r\n\r\n"), "a header whose name is no token") << bad;
}

TEST(ResponseHead, RefusesLengthsThatDifferOrAreNoNumbers) {
  const auto with = [](const std::string& lines) { return judged("HTTP/1.1 200 OK\r\n" + lines + "\r\n\r\n"); };
  EXPECT_EQ(with("Content-Length: 5\r\ncontent-length: 5"), "fine");
  EXPECT_EQ(with("Content-Length: 5\r\ncontent-length: 6"), "two Content-Lengths that differ");
  for (const char* bad : {"", "5, 5", "+5", "-5", "0x5", "5 5", "5;", "9223372036854775808", "99999999999999999999999"})
    EXPECT_EQ(with("Content-Length: " + std::string(bad)), "a Content-Length that is no number") << bad;
}

TEST(ResponseHead, RefusesEveryTransferEncodingButChunkedAlone) {
  const auto with = [](const std::string& lines) { return judged("HTTP/1.1 200 OK\r\n" + lines + "\r\n\r\n"); };
  EXPECT_EQ(with("Transfer-Encoding: Chunked"), "fine");
  for (const char* bad :
       {"Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: gzip",
        "Transfer-Encoding: identity", "Transfer-Encoding:", "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked;x", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"})
    EXPECT_EQ(with(bad), "a Transfer-Encoding that is not chunked alone") << bad;
  EXPECT_EQ(with("Transfer-Encoding: chunked\r\nContent-Length: 5"), "Content-Length with Transfer-Encoding");
  EXPECT_EQ(with("Content-Length: 5\r\nTransfer-Encoding: chunked"), "Content-Length with Transfer-Encoding");
  EXPECT_EQ(judged("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), "Transfer-Encoding in HTTP/1.0");
}

TEST(ResponseHead, IsOneHeadOfABoundedSize) {
  EXPECT_EQ(judged("HTTP/1.1 200 OK\r\n\r\nbody"), "bytes behind the head");
  const std::string most(kMaxResponseHead - 24, 'x');
  EXPECT_EQ(judged("HTTP/1.1 200 OK\r\nA: " + most + "\r\n\r\n"), "fine");
  EXPECT_EQ(judged("HTTP/1.1 200 OK\r\nA: x" + most + "\r\n\r\n"), "response_too_large");
}

}  // namespace
}  // namespace loom::egress
