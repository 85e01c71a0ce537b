// policy-fixtures/ is the contract as files; every file there is one case here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "policy/compose.h"
#include "policy/decode.h"
#include "test/support/paths.h"
#include "test/support/vectors.h"

namespace loom {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A .hex file holds msgpack as hex digits in lines.
std::string read_document(const fs::path& path) {
  std::string bytes = read_file(path);
  if (path.extension() != ".hex") return bytes;
  bytes.erase(std::remove(bytes.begin(), bytes.end(), '\n'), bytes.end());
  return test::from_hex(bytes);
}

std::vector<fs::path> fixtures(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(test::tree_path("policy-fixtures/" + folder))) {
    if (entry.path().extension() != ".error") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

class Fixture : public testing::TestWithParam<fs::path> {};
std::string fixture_name(const testing::TestParamInfo<fs::path>& info) {
  const std::string kind = info.param.extension().string();
  return info.param.stem().string() + (kind == ".hex" ? "_in_msgpack" : "");
}

class ValidFixture : public Fixture {};
TEST_P(ValidFixture, decodes_and_comes_back_from_both_encodings) {
  const auto policy = decode_policy_bytes(read_document(GetParam()));
  ASSERT_TRUE(policy) << policy.error().code << ": " << policy.error().text();
  EXPECT_EQ(decode_policy_bytes(render_policy_msgpack(*policy)).value(), *policy);
  if (const auto json = render_policy_json(*policy)) {
    EXPECT_EQ(decode_policy_bytes(*json).value(), *policy);
  } else {
    EXPECT_EQ(json.error().code, "not_utf8");
  }
}
INSTANTIATE_TEST_SUITE_P(Valid, ValidFixture, testing::ValuesIn(fixtures("valid")), fixture_name);

class InvalidFixture : public Fixture {};
TEST_P(InvalidFixture, is_refused_by_name_and_place) {
  const auto policy = decode_policy_bytes(read_document(GetParam()));
  ASSERT_FALSE(policy);
  const Error& error = policy.error();
  fs::path expected = GetParam();
  const std::string got = error.where.empty() ? error.code : error.code + " " + error.where;
  EXPECT_EQ(got + "\n", read_file(expected.replace_extension(".error")));
  EXPECT_FALSE(error.what.empty());
}
INSTANTIATE_TEST_SUITE_P(Invalid, InvalidFixture, testing::ValuesIn(fixtures("invalid")), fixture_name);

class ComposeFixture : public Fixture {
 protected:
  static Policy policy(const std::string& name) {
    const auto decoded = decode_policy_bytes(read_file(GetParam() / name));
    EXPECT_TRUE(decoded) << name << ": " << (decoded ? "" : decoded.error().text());
    return decoded.value_or(Policy());
  }
  static std::vector<Grant> grants() {
    std::vector<Grant> out;
    for (const std::string& line : lines(read_file(GetParam() / "grants.txt"))) {
      const auto grant = parse_grant(line);
      EXPECT_TRUE(grant) << line;
      if (grant) out.push_back(*grant);
    }
    return out;
  }
};

TEST_P(ComposeFixture, composes_to_the_expected_policy_and_narrowings) {
  const Composed composed = compose(policy("base.json"), policy("require.json"), grants());
  EXPECT_EQ(render_policy_json(composed.policy).value(), render_policy_json(policy("expected.json")).value());
  Array narrowings;
  for (const Narrowing& narrowing : composed.narrowings) narrowings.push_back(encode_narrowing(narrowing));
  EXPECT_EQ(render_json(narrowings) + "\n", read_file(GetParam() / "narrowings.json"));
}

TEST_P(ComposeFixture, leaves_only_mounts_narrowed_once_the_wanted_grants_are_given) {
  std::vector<Grant> all = grants();
  const Composed before = compose(policy("base.json"), policy("require.json"), all);
  for (const Grant& grant : wanted_grants(before.narrowings)) all.push_back(grant);
  for (const Narrowing& narrowing : compose(policy("base.json"), policy("require.json"), all).narrowings)
    EXPECT_EQ(narrowing.kind, "mount");
}
INSTANTIATE_TEST_SUITE_P(Compose, ComposeFixture, testing::ValuesIn(fixtures("compose")), fixture_name);

TEST(Fixtures, are_at_least_sixty) {
  EXPECT_GE(fixtures("valid").size() + fixtures("invalid").size() + fixtures("compose").size(), 60U);
}

TEST(Vectors, every_policy_row_renders_to_its_bytes_and_decodes_from_both) {
  const auto rows = test::vector_rows("wire.tsv", "policy");
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    const auto from_json = decode_policy_bytes(row.value);
    ASSERT_TRUE(from_json) << from_json.error().text();
    EXPECT_EQ(render_policy_msgpack(*from_json), row.bytes);
    EXPECT_EQ(decode_policy_bytes(row.bytes).value(), *from_json);
  }
}

}  // namespace
}  // namespace loom
