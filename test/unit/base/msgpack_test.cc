#include "base/msgpack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "test/support/vectors.h"

namespace loom {
namespace {

using test::from_hex;

std::string code_of(std::string_view hex) {
  const auto value = parse_msgpack(from_hex(hex));
  return value ? "accepted" : value.error().code;
}
std::string where_of(std::string_view hex) {
  const auto value = parse_msgpack(from_hex(hex));
  return value ? "accepted" : value.error().where;
}
std::string nested_arrays(std::size_t depth) {
  return std::string(depth - 1, '\x91') + '\x90';
}

std::map<std::string, Value> meanings() {
  Array sixteen;
  for (int i = 0; i < 16; ++i) sixteen.emplace_back(i);
  return {
      {"nil", Value()},
      {"bool-false", Value(false)},
      {"bool-true", Value(true)},
      {"int 0", Value(0)},
      {"int 127", Value(127)},
      {"int -1", Value(-1)},
      {"int -32", Value(-32)},
      {"int 128", Value(128)},
      {"int 256", Value(256)},
      {"int 65536", Value(65536)},
      {"int 2^64-1", Value(std::numeric_limits<std::uint64_t>::max())},
      {"int -33", Value(-33)},
      {"int -129", Value(-129)},
      {"int -32769", Value(-32769)},
      {"int -2^63", Value(std::numeric_limits<std::int64_t>::min())},
      {"str empty", Value("")},
      {"str hello", Value("hello")},
      {"str h\xc3\xa9llo", Value("h\xc3\xa9llo")},
      {"str 32 chars", Value("abcdefghijklmnopqrstuvwxyzabcdef")},
      {"bin empty", Value(Binary{""})},
      {"bin 1 2 3", Value(Binary{"\x01\x02\x03"})},
      {"array empty", Value(Array{})},
      {"array 1 2 3", Value(Array{1, 2, 3})},
      {"array 0..15", Value(sixteen)},
      {"map empty", Value(Map{})},
      {"map a 1", Value(Map{{"a", 1}})},
      {"nested", Value(Map{{"k", Array{Value(), true, -1}}})},
  };
}

TEST(Msgpack, EveryValueRowOfTheTableIsRenderedByteForByteAndReadBack) {
  const auto known = meanings();
  const auto rows = test::vector_rows("wire.tsv", "value");
  EXPECT_EQ(rows.size(), known.size());
  for (const auto& row : rows) {
    ASSERT_TRUE(known.count(row.value)) << "the table has a row this test does not know: " << row.value;
    EXPECT_EQ(render_msgpack(known.at(row.value)), row.bytes) << row.value;
    const auto read = parse_msgpack(row.bytes);
    ASSERT_TRUE(read) << row.value << ": " << read.error().text();
    EXPECT_EQ(*read, known.at(row.value)) << row.value;
  }
}

TEST(Msgpack, AnIntegerMayArriveInAnyWidthThatHoldsIt) {
  for (const auto* hex : {"05", "cc05", "cd0005", "ce00000005", "cf0000000000000005", "d005", "d10005", "d200000005",
                          "d30000000000000005"}) {
    const auto read = parse_msgpack(from_hex(hex));
    ASSERT_TRUE(read) << hex;
    EXPECT_EQ(*read, Value(5)) << hex;
  }
  EXPECT_EQ(parse_msgpack(from_hex("d3ffffffffffffffff")), Value(-1));
}

TEST(Msgpack, AFloatStaysAFloatInBothWidths) {
  EXPECT_EQ(parse_msgpack(from_hex("ca3f800000")), Value(1.0));
  EXPECT_EQ(parse_msgpack(from_hex("cb3ff0000000000000")), Value(1.0));
  EXPECT_NE(parse_msgpack(from_hex("ca3f800000")), Value(1));
  EXPECT_EQ(render_msgpack(Value(1.0)), from_hex("cb3ff0000000000000"));
}

TEST(Msgpack, EveryFaultHasItsCode) {
  EXPECT_EQ(code_of(""), "truncated");
  EXPECT_EQ(code_of("cd01"), "truncated");
  EXPECT_EQ(code_of("a568656c"), "truncated");
  EXPECT_EQ(code_of("81a161"), "truncated");
  EXPECT_EQ(code_of("dbffffffff"), "truncated") << "a text that claims 4 GiB";
  EXPECT_EQ(code_of("c6ffffffff00"), "truncated") << "bytes that claim 4 GiB";
  EXPECT_EQ(code_of("0101"), "trailing_bytes");
  EXPECT_EQ(code_of("80c0"), "trailing_bytes");
  EXPECT_EQ(code_of("c1"), "malformed");
  EXPECT_EQ(code_of("92c001c1"), "trailing_bytes");
  EXPECT_EQ(code_of("92c0c1"), "malformed");
  EXPECT_EQ(code_of("a1ff"), "malformed") << "text that is not UTF-8";
  EXPECT_EQ(code_of("d40100"), "wrong_type") << "ext";
  EXPECT_EQ(code_of("c7010000"), "wrong_type") << "ext";
  EXPECT_EQ(code_of("810102"), "wrong_type") << "a key that is an integer";
  EXPECT_EQ(code_of("81c4016102"), "wrong_type") << "a key that is bytes";
  EXPECT_EQ(code_of("819002"), "wrong_type") << "a key that is an array";
  EXPECT_EQ(code_of("82a16101a16102"), "duplicate_key");
}

TEST(Msgpack, AContainerThatClaimsMoreThanRemainsIsRefusedWhateverItsDepth) {
  EXPECT_EQ(code_of("ddffffffff"), "malformed");
  EXPECT_EQ(code_of("dfffffffff"), "malformed");
  EXPECT_EQ(code_of("dc0010" + std::string(28, '0')), "malformed") << "sixteen elements cannot fit in fourteen bytes";
  EXPECT_EQ(code_of("83a16101"), "malformed") << "three members cannot fit in three bytes";
  EXPECT_EQ(code_of("92ddffffffffc0"), "malformed");
  EXPECT_EQ(code_of("92a4616263649a"), "malformed") << "the text before it counts";
}

TEST(Msgpack, NestingIsAllowedToTheLimitAndNotBeyond) {
  EXPECT_TRUE(parse_msgpack(nested_arrays(32)));
  const auto deep = parse_msgpack(nested_arrays(33));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, "nesting");
  EXPECT_FALSE(parse_msgpack(nested_arrays(1U << 20U)));
  EXPECT_TRUE(parse_msgpack(nested_arrays(3), {.max_depth = 3}));
  EXPECT_FALSE(parse_msgpack(nested_arrays(4), {.max_depth = 3}));
}

TEST(Msgpack, ADocumentOverItsSizeIsRefusedAndOneOfExactlyItsSizeIsNot) {
  EXPECT_TRUE(
      parse_msgpack("\xa3"
                    "abc",
                    {.max_bytes = 4}));
  const auto large = parse_msgpack(
      "\xa3"
      "abc",
      {.max_bytes = 3});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, "document_too_large");
}

TEST(Msgpack, ADuplicateIsFoundInALargeMapToo) {
  Map map;
  for (int i = 0; i < 5000; ++i) map.emplace_back("key" + std::to_string(i), Value(i));
  EXPECT_EQ(parse_msgpack(render_msgpack(Value(map))), Value(map));
  map.emplace_back("key17", Value());
  const auto twice = parse_msgpack(render_msgpack(Value(Map{{"outer", map}})));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, "duplicate_key");
  EXPECT_EQ(twice.error().where, "/outer");
  EXPECT_NE(twice.error().what.find("key17"), std::string::npos);
}

TEST(Msgpack, AFaultNamesItsPlace) {
  EXPECT_EQ(where_of("81a16192c0c1"), "/a/1");
  EXPECT_EQ(where_of("81a16182a16201a16202"), "/a");
  EXPECT_EQ(where_of("81a16181a162d40100"), "/a/b");
  EXPECT_EQ(where_of("9281a16101d40100"), "/1");
  EXPECT_EQ(where_of("81a3612f62c1"), "/a~1b");
}

TEST(Msgpack, AFaultShowsNoMoreOfAKeyThanItsBeginning) {
  const std::string key(5000, 'k');
  const auto read = parse_msgpack(render_msgpack(Value(Map{{key, 1}})) + "x");
  EXPECT_FALSE(read);
  const auto twice = parse_msgpack(render_msgpack(Value(Map{{key, 1}, {key, 2}})));
  ASSERT_FALSE(twice);
  EXPECT_LT(twice.error().text().size(), 200U);
}

TEST(Msgpack, SortedRenderingSortsTheMembersOfEveryMapBytewise) {
  const Value value(Map{{"b", Map{{"z", 1}, {"a", 2}}}, {"a", 3}, {"\xc3\xa9", 4}, {"B", 5}});
  const Value sorted(Map{{"B", 5}, {"a", 3}, {"b", Map{{"a", 2}, {"z", 1}}}, {"\xc3\xa9", 4}});
  EXPECT_EQ(render_msgpack_sorted(value), render_msgpack(sorted));
  EXPECT_NE(render_msgpack(value), render_msgpack(sorted));
}

TEST(Msgpack, WhatIsAppendedPieceByPieceIsWhatAValueRendersTo) {
  std::string out;
  append_msgpack_map(out, 4);
  append_msgpack_text(out, "n");
  append_msgpack_count(out, 70000);
  append_msgpack_text(out, "f");
  append_msgpack_bool(out, true);
  append_msgpack_text(out, "d");
  append_msgpack_bytes_header(out, 300);
  out.append(300, 'x');
  append_msgpack_text(out, "v");
  append_msgpack(out, Value(Array{1}));
  EXPECT_EQ(out, render_msgpack(
                     Value(Map{{"n", 70000}, {"f", true}, {"d", Binary{std::string(300, 'x')}}, {"v", Array{1}}})));
}

TEST(Msgpack, ValuesAreCountedSoThatNoOneByteCostsForty) {
  const auto nils = [](std::size_t count) {
    std::string bytes("\xdd", 1);
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(count >> shift & 0xffU));
    return bytes + std::string(count, '\xc0');
  };
  const MsgpackLimits limits;
  EXPECT_TRUE(parse_msgpack(nils(limits.max_values - 1)).has_value());
  const auto refused = parse_msgpack(nils(limits.max_values));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "too_many_values");
  MsgpackLimits few;
  few.max_values = 4;
  EXPECT_TRUE(parse_msgpack(std::string("\x93\xc0\xc0\xc0", 4), few).has_value());
  EXPECT_FALSE(parse_msgpack(std::string("\x92\x92\xc0\xc0\xc0", 5), few).has_value());
}

}  // namespace
}  // namespace loom
