// Every field of a CallSpec wrong, missing or huge, on one connection of a real broker: each is refused bad_request by
// the key's name, nothing runs, and the connection goes on.
#include <gtest/gtest.h>

#include "test/support/door.h"

namespace loom::test {
namespace {

Map good() {
  return Map{{"op_id", "op"}, {"step_id", "1"}, {"argv", Array{"exit:0"}}, {"stdin", false}};
}

Value with(const std::string& key, Value value) {
  Map body = good();
  for (Member& member : body) {
    if (member.first != key) continue;
    member.second = std::move(value);
    return body;
  }
  body.emplace_back(key, std::move(value));
  return body;
}

Value without(const std::string& key) {
  Map body;
  for (Member& member : good()) {
    if (member.first != key) body.push_back(std::move(member));
  }
  return body;
}

struct Row {
  std::string key;
  Value body;
};

std::vector<Row> rows() {
  std::vector<Row> out;
  for (const char* key : {"op_id", "step_id", "argv"}) out.push_back({key, without(key)});
  // Of another type: a list of fractions is none of any.
  for (const char* key : {"op_id", "step_id", "argv", "env", "cwd", "requirements", "grants", "narrowed", "demand",
                          "why", "budget", "waiting_ms", "deadline_ms", "stdin", "session", "caps", "caller", "tty"}) {
    out.push_back({key, with(key, Array{1.5})});
    out.push_back({key, with(key, Value())});
  }
  const std::string nul("a\0b", 3);
  const std::string huge(129, 'x');
  for (const char* key : {"op_id", "step_id"}) {
    out.push_back({key, with(key, "")});
    out.push_back({key, with(key, huge)});
    out.push_back({key, with(key, std::string(1U << 20U, 'x'))});
  }
  out.push_back({"argv", with("argv", Array{})});
  out.push_back({"argv", with("argv", Array{nul})});
  out.push_back({"argv", with("argv", Array{"exit:0", 7})});
  out.push_back({"env", with("env", Map{{"", "x"}})});
  out.push_back({"env", with("env", Map{{"A=B", "x"}})});
  out.push_back({"env", with("env", Map{{"A", nul}})});
  out.push_back({"env", with("env", Map{{"LOOM_TOKEN", "mine"}})});
  out.push_back({"cwd", with("cwd", nul)});
  for (const char* key : {"narrowed", "demand", "why", "session"}) out.push_back({key, with(key, "perhaps")});
  for (const char* key : {"waiting_ms", "deadline_ms"}) {
    out.push_back({key, with(key, -1)});
    out.push_back({key, with(key, 0.5)});
    out.push_back({key, with(key, UINT64_MAX)});
  }
  out.push_back({"max_outstanding", with("budget", Map{{"max_outstanding", 0}})});
  out.push_back({"deadline_ms", with("budget", Map{{"deadline_ms", UINT64_MAX}})});
  out.push_back({"budget", with("budget", Map{{"more", 1}})});
  out.push_back({"tty", with("tty", Map{{"rows", 1}})});
  out.push_back({"tty", with("tty", Map{{"rows", 1}, {"cols", -1}})});
  // Known, and not offered here.
  out.push_back({"grants", with("grants", Array{Map{{"kind", "network"}, {"value", "full"}}})});
  out.push_back({"grants", with("grants", Array{Map{{"kind", "limit"}, {"value", 1}}})});
  out.push_back({"session", with("session", "wire")});
  out.push_back({"caps", with("caps", Array{"exec.run"})});
  out.push_back({"more", with("more", 1)});
  return out;
}

TEST(BadRequest, EveryFieldThatIsWrongMissingOrHugeIsNamedAndTheConnectionStays) {
  Door door(acting());
  std::size_t refused = 0;
  for (const Row& row : rows()) {
    const std::uint64_t call = door.client.send("clear_call", row.body);
    const HeardCall& heard = door.client.settle(call);
    EXPECT_EQ(heard.verdict(), "refused bad_request") << row.key;
    if (!heard.refused) continue;
    const std::string detail = text_in(heard.refused->detail, {"detail"});
    EXPECT_NE(detail.find(row.key), std::string::npos) << row.key << ": " << detail;
    EXPECT_LT(detail.size(), 1000U) << row.key;
    ++refused;
  }
  EXPECT_EQ(refused, rows().size());
  EXPECT_EQ(door.client.settle(door.client.start({"exit:7"})).verdict(), "exited 7");
  const Value shown = door.snapshot();
  EXPECT_EQ(count_in(shown, {"counters", "refused", "bad_request"}), refused);
  EXPECT_EQ(count_in(shown, {"counters", "starts"}), 1U);
  EXPECT_FALSE(door.client.left());
  EXPECT_EQ(wrong_books(door), "");
}

TEST(BadRequest, WhatWouldNotFitAFrameIsRefusedBeforeItCostsAHelper) {
  Door door(acting());
  // Fits the client's frame; with the policy it would be more than the helper's.
  const HeardCall& heard = door.client.settle(door.client.start({"exit:0", std::string(kMaxFrameBytes - 400, 'x')}));
  EXPECT_EQ(heard.verdict(), "refused bad_request");
  ASSERT_TRUE(heard.refused.has_value());
  EXPECT_NE(text_in(heard.refused->detail, {"detail"}).find("16 MiB"), std::string::npos);
  EXPECT_EQ(door.client.settle(door.client.start({"exit:7"})).verdict(), "exited 7");
  EXPECT_FALSE(door.client.left());
}

TEST(BadRequest, GrantsAreTakenWhereTheyAreAllowedAndFaultyOnesNamed) {
  Door door(acting("", {"--grants", "allow"}));
  for (const Value& grant :
       {Value(Map{{"kind", "network"}, {"value", "half"}}), Value(Map{{"kind", "everything"}, {"value", 1}}),
        Value(Map{{"kind", "writable_root"}, {"value", "relative"}}),
        Value(Map{{"kind", "limit"}, {"field", "patience"}, {"value", 1}})}) {
    const HeardCall& heard = door.client.settle(door.client.send("clear_call", with("grants", Array{grant})));
    EXPECT_EQ(heard.verdict(), "refused bad_request");
    ASSERT_TRUE(heard.refused.has_value());
    EXPECT_NE(text_in(heard.refused->detail, {"detail"}).find("grants"), std::string::npos);
  }
  Map body = good();
  body.emplace_back("grants", Array{Map{{"kind", "env"}, {"value", "MARK"}}});
  EXPECT_EQ(door.client.settle(door.client.send("clear_call", body)).verdict(), "exited 0");
}

}  // namespace
}  // namespace loom::test
