#include "egress/reflection.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace loom::egress {
namespace {

constexpr const char* kSecret = "tok/en+va=lue%41 \"x\\y";

std::string percent(std::string_view text, bool all, bool upper) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    char hex[4];
    std::snprintf(hex, sizeof hex, upper ? "%%%02X" : "%%%02x", static_cast<unsigned char>(c));
    out += plain && !all ? std::string(1, c) : std::string(hex);
  }
  return out;
}

TEST(Reflection, is_found_in_every_form_and_replaced) {
  const Reflection reflection{kSecret};
  std::string url_safe = encode_base64("user:" + std::string(kSecret));
  for (char& c : url_safe) c = c == '+' ? '-' : c == '/' ? '_' : c;
  const std::string forms[] = {kSecret,
                               percent(kSecret, false, true),
                               percent(kSecret, false, false),
                               percent(kSecret, true, true),
                               "tok/en+va=lue%41 \\\"x\\\\y",
                               "tok\\/en+va=lue%41 \\u0022x\\u005cy",
                               "tok%2Fen+va=lue%2541+%22x\\y"};
  for (const std::string& form : forms) {
    EXPECT_TRUE(reflection.found_in(form)) << form;
    EXPECT_EQ(reflection.scrub("<" + form + "><" + form + ">"), "<[secret]><[secret]>") << form;
  }
  for (std::size_t before = 0; before < 5; ++before) {
    for (std::size_t behind = 0; behind < 4; ++behind) {
      const std::string encoded = encode_base64(std::string(before, 'p') + kSecret + std::string(behind, 's'));
      EXPECT_TRUE(reflection.found_in(encoded)) << before << " " << behind;
      EXPECT_NE(reflection.scrub(encoded).find("[secret]"), std::string::npos);
    }
  }
  EXPECT_TRUE(reflection.found_in(url_safe));
}

TEST(Reflection, leaves_other_text_as_it_is) {
  const Reflection reflection{kSecret};
  for (const char* text : {"", "tok", "tok/en+va=lue%41 \"x\\", "Tok/en+va=lue%41 \"x\\y", "%", "%4", "\\", "\\u00"})
    EXPECT_EQ(reflection.scrub(text), text);
  EXPECT_EQ(Reflection().scrub(kSecret), kSecret);
}

TEST(Reflection, a_secret_under_eight_bytes_is_not_looked_for) {
  EXPECT_FALSE(Reflection("sevenby").found_in("sevenby"));
  EXPECT_TRUE(Reflection("eightbyt").found_in("eightbyt"));
}

TEST(Reflection, a_secret_that_overlaps_itself_is_replaced_from_the_left) {
  EXPECT_EQ(Reflection("abababab").scrub("abababababab"), "[secret]abab");
  EXPECT_EQ(Reflection("%%%%%%%%").scrub("%25%%25%%25%%25%"), "[secret]");
}

TEST(Reflection, moves_without_leaving_a_copy) {
  Reflection first{kSecret};
  const Reflection second = std::move(first);
  EXPECT_FALSE(first.found_in(kSecret));  // NOLINT(bugprone-use-after-move): that nothing is left is what is asked
  EXPECT_TRUE(second.found_in(kSecret));
}

}  // namespace
}  // namespace loom::egress
