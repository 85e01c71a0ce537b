#include "base/hash.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

TEST(Hash, sha256_is_the_published_one) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, random_bytes_have_the_length_asked_for_and_differ) {
  EXPECT_EQ(random_bytes(32).size(), 32U);
  EXPECT_NE(random_bytes(32), random_bytes(32));
  EXPECT_EQ(random_bytes(0), "");
}

TEST(Hash, comparison_is_of_length_and_content) {
  EXPECT_TRUE(equal_constant_time("", ""));
  EXPECT_TRUE(equal_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_constant_time("", "a"));
}

TEST(Hash, a_wiped_secret_is_empty_and_its_bytes_are_gone) {
  std::string secret(64, 's');
  const char* where = secret.data();
  wipe(secret);
  EXPECT_TRUE(secret.empty());
  EXPECT_EQ(where[1], '\0');
}

TEST(Hash, hex_is_lower_case_and_base64_is_padded) {
  EXPECT_EQ(to_hex(std::string_view("\x00\xff\x1a", 3)), "00ff1a");
  EXPECT_EQ(to_hex(""), "");
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("a"), "YQ==");
  EXPECT_EQ(encode_base64("\xff\xff\xff"), "////");
}

}  // namespace
}  // namespace loom
