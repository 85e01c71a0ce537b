#include "egress/tokens.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace loom::egress {
namespace {

TokenGranted granted(std::string_view token, std::int64_t expires = 0) {
  return {sha256_hex(token), "tool", "run-1", expires};
}

TEST(Tokens, are_known_by_their_digest_until_revoked_or_expired) {
  Tokens tokens;
  tokens.apply(granted("one"));
  tokens.apply(granted("two", 1000));
  ASSERT_NE(tokens.find("one", 5000), nullptr);
  EXPECT_EQ(tokens.find("one", 5000)->name, "tool");
  EXPECT_EQ(tokens.find("one", 5000)->run, "run-1");
  EXPECT_NE(tokens.find("two", 999), nullptr);
  EXPECT_EQ(tokens.find("two", 1000), nullptr);
  EXPECT_EQ(tokens.find("three", 0), nullptr);
  EXPECT_EQ(tokens.find("", 0), nullptr);
  EXPECT_EQ(tokens.find(sha256_hex("one"), 0), nullptr);
  tokens.apply(TokenRevoked{sha256_hex("one")});
  EXPECT_EQ(tokens.find("one", 0), nullptr);
}

TEST(Tokens, telling_one_again_refills_nothing) {
  Tokens tokens;
  tokens.apply(granted("one"));
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(tokens.find("one", 0)->budget.spend());
  tokens.apply(granted("one"));
  EXPECT_EQ(tokens.find("one", 0)->budget.left(), 4U);
}

TEST(Tokens, notices_come_back_from_their_line) {
  const std::string line = render_token_notice(granted("one", 77));
  const auto notice = decode_token_notice(line).value();
  EXPECT_EQ(std::get<TokenGranted>(notice).sha256, sha256_hex("one"));
  EXPECT_EQ(std::get<TokenGranted>(notice).expires_ms, 77);
  const std::string revoked = render_token_notice(TokenRevoked{sha256_hex("one")});
  EXPECT_EQ(std::get<TokenRevoked>(decode_token_notice(revoked).value()).sha256, sha256_hex("one"));
}

TEST(Tokens, notices_are_strict) {
  const auto fault = [](const std::string& line) { return decode_token_notice(line).error().code; };
  const std::string digest = sha256_hex("x");
  EXPECT_EQ(fault("{}"), "missing_key");
  EXPECT_EQ(fault(R"({"revoke":"abc"})"), "bad_digest");
  EXPECT_EQ(fault(R"({"revoke":")" + digest + R"(","caller":"t"})"), "unknown_key");
  EXPECT_EQ(fault(R"({"token_sha256":")" + digest + R"(","caller":"../t","run":"","expires":0})"), "bad_name");
  EXPECT_EQ(fault(R"({"token_sha256":")" + digest + R"(","caller":"t","run":"","expires":-1})"), "out_of_range");
  EXPECT_EQ(fault(R"({"token":"x","caller":"t","run":"","expires":0})"), "unknown_key");
}

}  // namespace
}  // namespace loom::egress
