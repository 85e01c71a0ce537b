#include "broker/census.h"

#include <gtest/gtest.h>

namespace loom::broker {
namespace {

Census example() {
  Census census;
  census.service = "loom-broker/0.1.0";
  for (const std::string& name : tool_names()) census.tools.emplace_back(name, "0.1.0");
  census.tools[3].second = std::nullopt;
  census.helper_peer = "loom-exec/0.1.0";
  census.helper_features = {"mounts", "skip:cgroup-v2: no controller"};
  return census;
}

TEST(Census, DecodesWhatItEncodes) {
  EXPECT_EQ(decode_census(encode(example())).value(), example());
}

TEST(Census, AToolThatIsNotHereIsNil) {
  EXPECT_TRUE(encode(example()).find("tools")->find("loom-egress")->is_nil());
}

TEST(Census, AReaderIgnoresKeysItDoesNotKnow) {
  Value value = encode(example());
  value.get_if<Map>()->emplace_back("newer", true);
  EXPECT_EQ(decode_census(value).value(), example());
}

TEST(Census, EachMissingOrMistypedKeyIsNamed) {
  for (const char* key : {"service", "exec_proto", "control_proto", "cap_proto", "policy_v", "tools", "helper"}) {
    Value value = encode(example());
    Map& map = *value.get_if<Map>();
    for (Member& member : map) {
      if (member.first == key) member.second = Value(Array{});
    }
    EXPECT_EQ(decode_census(value).error().code, "wrong_type") << key;
    EXPECT_EQ(decode_census(value).error().where, std::string("/") + key);
    for (Member& member : map) {
      if (member.first == key) member.first = "other";
    }
    EXPECT_EQ(decode_census(value).error().code, "missing_key") << key;
  }
  EXPECT_FALSE(decode_census(Value("text")));
}

TEST(Skew, NamesEveryDifferingVersionAndIgnoresFeatures) {
  Census theirs = example();
  theirs.helper_features.clear();
  EXPECT_TRUE(skew(example(), theirs).empty());
  theirs.service = "loom-census/0.2.0";
  theirs.exec_proto = 5;
  theirs.control_proto = 2;
  theirs.cap_proto = 3;
  theirs.policy_v = 4;
  theirs.tools[0].second = "0.2.0";
  theirs.tools[3].second = "0.1.0";
  theirs.tools.pop_back();
  theirs.tools.emplace_back("loom-new", "9");
  theirs.helper_peer = "loom-exec/0.3.0";
  const std::vector<Skew> want = {{"service", "0.1.0", "0.2.0"}, {"exec_proto", "4", "5"},
                                  {"control_proto", "1", "2"},   {"cap_proto", "1", "3"},
                                  {"policy_v", "3", "4"},        {"loom-policy", "0.1.0", "0.2.0"},
                                  {"loom-egress", "", "0.1.0"},  {"loom-census", "0.1.0", ""},
                                  {"loom-new", "", "9"},         {"helper", "0.1.0", "0.3.0"}};
  EXPECT_EQ(skew(example(), theirs), want);
}

TEST(Skew, AHelperThatNobodyAskedIsNoSkew) {
  Census theirs = example();
  theirs.helper_peer = "";
  EXPECT_TRUE(skew(example(), theirs).empty());
}

}  // namespace
}  // namespace loom::broker
