#include "egress/response_patch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace loom::egress {
namespace {

std::string in_pieces(std::string_view bytes, std::size_t piece) {
  ResponsePatch patch;
  std::string passed;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    passed += patch.pass(bytes.substr(0, piece));
  return passed + patch.rest();
}
std::string passed(std::string_view bytes) {
  std::string whole = in_pieces(bytes, bytes.size());
  for (const std::size_t piece : {1, 3, 10}) EXPECT_EQ(in_pieces(bytes, piece), whole) << bytes;
  return whole;
}

TEST(ResponsePatch, the_head_says_that_the_connection_closes_and_the_body_passes) {
  EXPECT_EQ(passed("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nA: b\r\nKeep-Alive: timeout=5\r\n\r\nbody\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nConnection: close\r\nA: b\r\n\r\nbody\r\n\r\n");
  EXPECT_EQ(passed("HTTP/1.0 204 No\r\n\r\n"), "HTTP/1.0 204 No\r\nConnection: close\r\n\r\n");
}

TEST(ResponsePatch, interim_answers_pass_before_it) {
  EXPECT_EQ(passed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nb"),
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nConnection: "
            "close\r\n\r\nb");
}

TEST(ResponsePatch, interim_answers_by_the_thousand_cost_no_more_than_their_bytes) {
  std::string flood;
  for (int i = 0; i < 100'000; ++i) flood += "HTTP/1.1 1\r\n\r\n";
  ResponsePatch patch;
  EXPECT_EQ(patch.pass(flood + "HTTP/1.1 200 OK\r\n\r\nb"), flood + "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nb");
  EXPECT_TRUE(patch.done());
}

TEST(ResponsePatch, what_is_no_head_passes_as_it_is) {
  EXPECT_EQ(passed("SSH-2.0\r\n\r\nx"), "SSH-2.0\r\n\r\nx");
  EXPECT_EQ(passed("HTTP/1.1 200 OK\r\nA: b"), "HTTP/1.1 200 OK\r\nA: b");
  EXPECT_EQ(passed("\r\n\r\nx"), "\r\n\r\nx");
  const std::string endless = "HTTP/1.1 200 OK\r\nA: " + std::string(70000, 'x');
  EXPECT_EQ(passed(endless), endless);
}

}  // namespace
}  // namespace loom::egress
