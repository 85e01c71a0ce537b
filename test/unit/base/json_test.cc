#include "base/json.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

Error error_of(std::string_view text, const JsonLimits& limits = {}) {
  auto value = parse_json(text, limits);
  EXPECT_FALSE(value) << text;
  return value ? Error{} : value.error();
}

TEST(Json, keeps_members_in_the_order_they_arrived) {
  const auto value = parse_json(R"({"b": 1, "a": [true, null, "x", -3]})");
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, Value(Map{{"b", 1}, {"a", Array{true, Value(), "x", -3}}}));
  EXPECT_EQ(render_json(*value), R"({"b":1,"a":[true,null,"x",-3]})");
}

TEST(Json, reads_every_integer_from_the_least_to_the_greatest_exactly) {
  EXPECT_EQ(parse_json("18446744073709551615").value(), Value(std::uint64_t{18446744073709551615U}));
  EXPECT_EQ(parse_json("-9223372036854775808").value(), Value(std::int64_t{INT64_MIN}));
  EXPECT_EQ(parse_json("-0").value(), Value(0));
}

TEST(Json, judges_numbers_by_the_text_of_their_token) {
  EXPECT_EQ(error_of(R"({"a": 1.0})").code, "wrong_type");
  EXPECT_EQ(error_of(R"({"a": 1e2})").code, "wrong_type");
  EXPECT_EQ(error_of(R"({"a": 99999999999999999999E0})").code, "wrong_type");
  EXPECT_EQ(error_of(R"({"a": 18446744073709551616})").code, "integer_too_large");
  EXPECT_EQ(error_of(R"({"a": [0, -9223372036854775809]})").code, "integer_too_small");
  EXPECT_EQ(error_of(R"({"a": [0, -9223372036854775809]})").where, "/a/1");
}

TEST(Json, names_the_place_of_a_key_that_is_there_twice) {
  const Error error = error_of(R"({"x": [0, {"a/b~": 1, "a/b~": 2}]})");
  EXPECT_EQ(error.code, "duplicate_key");
  EXPECT_EQ(error.where, "/x/1/a~1b~0");
}

TEST(Json, sees_a_duplicate_that_is_written_with_an_escape) {
  EXPECT_EQ(error_of(R"({"a": 1, "\u0061": 2})").code, "duplicate_key");
}

TEST(Json, refuses_what_is_not_exactly_one_document) {
  EXPECT_EQ(error_of("").code, "not_canonical_json");
  EXPECT_EQ(error_of("{").code, "not_canonical_json");
  EXPECT_EQ(error_of("\xef\xbb\xbf{}").code, "not_canonical_json");
  EXPECT_EQ(error_of(std::string_view("{}\0", 3)).code, "not_canonical_json");
  EXPECT_EQ(error_of("{} {}").code, "not_canonical_json");
  EXPECT_EQ(error_of("// no\n{}").code, "not_canonical_json");
  EXPECT_EQ(error_of("{\"a\": 1,}").code, "not_canonical_json");
  EXPECT_EQ(error_of("[NaN]").code, "not_canonical_json");
  EXPECT_EQ(error_of("[\"\xff\"]").code, "not_canonical_json");
  EXPECT_EQ(error_of(R"(["\ud800"])").code, "not_canonical_json");
  EXPECT_TRUE(parse_json(" {} \n"));
}

TEST(Json, says_line_and_column_of_what_is_not_json) {
  EXPECT_EQ(error_of("{\n  \"a\": x}").what, "not JSON at line 2, column 8");
  EXPECT_EQ(error_of("{}\nx").what, "something follows the document at line 2, column 1");
}

TEST(Json, holds_size_and_depth_to_their_limits) {
  EXPECT_TRUE(parse_json(std::string(32, '[') + std::string(32, ']')));
  const Error deep = error_of(std::string(33, '[') + std::string(33, ']'));
  EXPECT_EQ(deep.code, "nesting");
  EXPECT_TRUE(parse_json("[    ]", JsonLimits{6, 1}));
  EXPECT_EQ(error_of("[     ]", JsonLimits{6, 1}).code, "document_too_large");
}

TEST(Json, refuses_a_million_brackets_at_the_thirty_third) {
  EXPECT_EQ(error_of(std::string(1U << 20U, '[')).code, "nesting");
}

TEST(Json, renders_bytes_and_text_that_is_not_utf8_as_base64) {
  EXPECT_EQ(render_json(Value(Binary{"\xff\x01"})), R"({"bytes":"/wE="})");
  EXPECT_EQ(render_json(Value(std::string("\xff\x01"))), R"({"bytes":"/wE="})");
  EXPECT_EQ(render_json(Value(Map{{"k\xff", 1}})), R"({"k\\xff":1})");
  EXPECT_EQ(render_json(Value("\x01\n\"")), R"("\u0001\n\"")");
}

TEST(Json, renders_for_people_with_two_spaces) {
  EXPECT_EQ(render_json_pretty(Value(Map{{"a", Array{1}}})), "{\n  \"a\": [\n    1\n  ]\n}");
}

}  // namespace
}  // namespace loom
