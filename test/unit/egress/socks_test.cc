#include "egress/socks.h"

#include <gtest/gtest.h>

namespace loom::egress {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): what literals are for

SocksRequest request(const std::string& bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto early = parse_socks_request(bytes.substr(0, size));
    EXPECT_TRUE(early && !early->has_value()) << size;
  }
  auto parsed = parse_socks_request(bytes + "behind");
  EXPECT_TRUE(parsed && parsed->has_value());
  return parsed && *parsed ? **parsed : SocksRequest();
}

TEST(Socks, a_greeting_is_read_byte_by_byte) {
  const std::string greeting = "\x05\x02\x02\x00"s;
  for (std::size_t size = 0; size < greeting.size(); ++size) {
    const auto early = parse_socks_greeting(greeting.substr(0, size));
    EXPECT_TRUE(early && !early->has_value()) << size;
  }
  const auto whole = parse_socks_greeting(greeting + "behind");
  ASSERT_TRUE(whole && whole->has_value());
  EXPECT_EQ((*whole)->bytes, 4U);
  EXPECT_TRUE((*whole)->without_auth);
}

TEST(Socks, a_client_that_insists_on_a_password_or_offers_nothing_is_told_so) {
  EXPECT_FALSE((*parse_socks_greeting("\x05\x01\x02"s))->without_auth);
  EXPECT_FALSE((*parse_socks_greeting("\x05\x00"s))->without_auth);
  EXPECT_EQ(render_socks_method(false), "\x05\xff"s);
  EXPECT_EQ(render_socks_method(true), "\x05\x00"s);
}

TEST(Socks, another_version_is_refused_at_its_first_byte) {
  EXPECT_FALSE(parse_socks_greeting("\x04"s));
  EXPECT_FALSE(parse_socks_request("\x04"s));
  EXPECT_FALSE(parse_socks_request("\x05\x01\x01"s));
}

TEST(Socks, names_and_addresses_come_as_the_host_parser_takes_them) {
  const SocksRequest name = request("\x05\x01\x00\x03\x0b"s + "example.org\x01\xbb");
  EXPECT_EQ(name.host, "example.org");
  EXPECT_EQ(name.port, 443);
  EXPECT_EQ(name.verdict, SocksReply::kSucceeded);
  EXPECT_EQ(name.bytes, 18U);
  EXPECT_EQ(request("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"s).host, "127.0.0.1");
  EXPECT_EQ(request("\x05\x01\x00\x04"s + std::string(15, '\0') + "\x01\x1f\x90").host, "[::1]");
}

TEST(Socks, an_empty_name_and_one_of_255_bytes_are_read_for_the_host_parser_to_judge) {
  const SocksRequest empty = request("\x05\x01\x00\x03\x00\x01\xbb"s);
  EXPECT_EQ(empty.host, "");
  EXPECT_EQ(empty.port, 443);
  const SocksRequest longest = request("\x05\x01\x00\x03\xff"s + std::string(255, 'a') + "\x01\xbb");
  EXPECT_EQ(longest.host, std::string(255, 'a'));
}

TEST(Socks, bind_and_udp_associate_are_answered_7_and_other_address_types_8) {
  EXPECT_EQ(request("\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50"s).verdict, SocksReply::kCommandUnsupported);
  EXPECT_EQ(request("\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50"s).verdict, SocksReply::kCommandUnsupported);
  EXPECT_EQ(request("\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"s).verdict, SocksReply::kCommandUnsupported);
  EXPECT_EQ((*parse_socks_request("\x05\x01\x00\x02\x00"s))->verdict, SocksReply::kAddressTypeUnsupported);
  EXPECT_EQ(render_socks_reply(SocksReply::kCommandUnsupported), "\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"s);
}

}  // namespace
}  // namespace loom::egress
