// Strictness that every kind shares, asked of each kind's samples: a new kind is covered by having samples.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "test/support/vectors.h"
#include "test/support/wire_bodies.h"
#include "wire/call_spec.h"
#include "wire/exec_exit.h"
#include "wire/exec_start.h"
#include "wire/frame.h"

namespace loom {
namespace {

using test::all_kinds;
using test::recode;
using test::sample_bodies;

constexpr Channel kChannels[] = {Channel::kExec, Channel::kControl, Channel::kCapability};

template <class Check>
void for_each_sample(Check check) {
  for (const auto channel : kChannels) {
    for (const auto kind : all_kinds()) {
      ASSERT_FALSE(sample_bodies(channel, kind).empty()) << to_text(kind);
      for (const auto& body : sample_bodies(channel, kind)) check(channel, kind, body);
    }
  }
}

const Map& members(const Value& body) {
  return *body.get_if<Map>();
}

Value without(const Value& body, std::string_view key) {
  Map kept;
  for (const auto& member : members(body)) {
    if (member.first != key) kept.push_back(member);
  }
  return Value(std::move(kept));
}

Value with(const Value& body, std::string_view key, const Value& value) {
  Map changed = members(body);
  for (auto& member : changed) {
    if (member.first == key) member.second = value;
  }
  return Value(std::move(changed));
}

// Keys whose value is anything at all.
bool takes_anything(Kind kind, std::string_view key) {
  if (kind == Kind::kOk) return true;
  return key == "args" || (key == "value" && (kind == Kind::kCapResult || kind == Kind::kHookResult));
}

TEST(Bodies, EverySampleIsDecodedAndWrittenAgainTheSame) {
  for_each_sample([](Channel channel, Kind kind, const Value& body) {
    const auto again = recode(channel, kind, body);
    ASSERT_TRUE(again) << to_text(kind) << ": " << again.error().text();
    EXPECT_EQ(*again, body) << to_text(kind);
  });
}

TEST(Bodies, EveryKindRefusesAnUnknownKeyAndNamesIt) {
  for_each_sample([](Channel channel, Kind kind, const Value& body) {
    if (kind == Kind::kOk) return;
    Map more = members(body);
    more.emplace_back("surprise", Value(true));
    const auto result = recode(channel, kind, Value(more));
    ASSERT_FALSE(result) << to_text(kind);
    EXPECT_NE(result.error().where.find("/surprise"), std::string::npos) << to_text(kind);
    EXPECT_EQ(result.error().what, "unknown key") << to_text(kind);
  });
}

TEST(Bodies, EveryKindRefusesABodyThatIsNoMap) {
  for_each_sample([](Channel channel, Kind kind, const Value&) {
    for (const Value& wrong : {Value(), Value(1), Value("text"), Value(Array{})}) {
      EXPECT_FALSE(recode(channel, kind, wrong)) << to_text(kind) << " as " << wrong.type_name();
    }
  });
}

TEST(Bodies, EveryKeyOfEveryKindRefusesNilAndIsNamed) {
  for_each_sample([](Channel channel, Kind kind, const Value& body) {
    for (const auto& [key, value] : members(body)) {
      if (takes_anything(kind, key)) continue;
      const auto result = recode(channel, kind, with(body, key, Value()));
      ASSERT_FALSE(result) << to_text(kind) << "/" << key;
      EXPECT_NE(result.error().where.find("/" + key), std::string::npos) << result.error().text();
      EXPECT_NE(result.error().what.find("wrong type"), std::string::npos) << result.error().text();
    }
  });
}

TEST(Bodies, AKeyIsRequiredExactlyWhenTheSmallestSampleHasIt) {
  for (const auto channel : kChannels) {
    for (const auto kind : all_kinds()) {
      if (kind == Kind::kOk) continue;
      const auto samples = sample_bodies(channel, kind);
      const Value& least = samples.back();
      for (const auto& [key, value] : members(least)) {
        const auto result = recode(channel, kind, without(least, key));
        ASSERT_FALSE(result) << to_text(kind) << " without " << key;
        EXPECT_NE(result.error().what.find("missing key"), std::string::npos) << result.error().text();
      }
      for (const auto& [key, value] : members(samples.front())) {
        if (least.find(key) != nullptr || kind == Kind::kCallCancel || kind == Kind::kCapResult ||
            kind == Kind::kHookResult)
          continue;
        EXPECT_TRUE(recode(channel, kind, without(samples.front(), key))) << to_text(kind) << " without " << key;
      }
    }
  }
}

TEST(Bodies, NoErrorShowsAValue) {
  for_each_sample([](Channel channel, Kind kind, const Value& body) {
    for (const auto& [key, value] : members(body)) {
      for (const Value& marked :
           {Value("MARKER"), Value(Binary{"MARKER"}), Value(Array{"MARKER"}), Value(Map{{"k", "MARKER"}})}) {
        const auto result = recode(channel, kind, with(body, key, marked));
        if (!result) {
          EXPECT_EQ(result.error().text().find("MARKER"), std::string::npos) << result.error().text();
        }
      }
    }
  });
}

TEST(Bodies, EveryMalformedExecRowOfTheTableIsRefusedForItsOwnReason) {
  const std::map<std::string, std::string> reasons = {
      {"exec_start with empty argv", "exec_start: /argv: empty: want at least one element"},
      {"exec_start with NUL in argv", "exec_start: /argv/0: holds a NUL"},
      {"exec_start with empty token", "exec_start: /token: empty: want bytes"},
      {"exec_start with = in env name", "exec_start: /env: entry 0: a name that holds '='"},
      {"exec_start with unknown key", "exec_start: /surprise: unknown key"},
      {"exec_credit with a stream it does not know",
       "exec_credit: /stream: unknown value: want one of stdin, stdout, stderr"},
      {"exec_start with an unknown demand",
       "exec_start: /demand: unknown value: want one of full, platform, best_effort"},
      {"exec_out with unknown stream", "exec_out: /stream: unknown value: want one of stdout, stderr"},
  };
  std::size_t seen = 0;
  for (const auto& row : test::vector_rows("malformed.tsv")) {
    if (row.value.rfind("exec_", 0) != 0) continue;
    ASSERT_TRUE(reasons.count(row.value)) << "a row this test does not know: " << row.value;
    const auto frame = decode_payload(std::string_view(row.bytes).substr(kFrameLengthBytes));
    ASSERT_TRUE(frame) << row.value << ": " << frame.error().text();
    const auto result = recode(Channel::kExec, *parse_kind(frame->kind), frame->body);
    ASSERT_FALSE(result) << row.value;
    EXPECT_EQ(result.error().code, "malformed_frame");
    EXPECT_EQ(result.error().text(), reasons.at(row.value));
    ++seen;
  }
  EXPECT_EQ(seen, reasons.size());
}

TEST(Bodies, EveryFrameRowOfTheTableIsDecodedAndWrittenByteForByte) {
  std::set<std::string> kinds;
  for (const auto& row : test::vector_rows("wire.tsv", "frame")) {
    const auto frame = decode_payload(std::string_view(row.bytes).substr(kFrameLengthBytes));
    ASSERT_TRUE(frame) << row.value;
    const auto body = recode(Channel::kExec, *parse_kind(frame->kind), frame->body);
    ASSERT_TRUE(body) << row.value << ": " << body.error().text();
    EXPECT_EQ(encode_frame(frame->id, frame->kind, *body), row.bytes) << row.value;
    EXPECT_EQ(row.value.find("id=" + std::to_string(frame->id) + " kind=" + frame->kind + " "), 0U) << row.value;
    kinds.insert(frame->kind);
  }
  EXPECT_EQ(kinds.size(), 10U);
}

TEST(ExecStart, TheTablesRowMeansWhatItSays) {
  for (const auto& row : test::vector_rows("wire.tsv", "frame")) {
    if (row.value.find("kind=exec_start") == std::string::npos) continue;
    const auto frame = decode_payload(std::string_view(row.bytes).substr(kFrameLengthBytes));
    const auto start = decode_exec_start(frame->body);
    ASSERT_TRUE(start);
    ExecStart want;
    want.argv = {"/bin/sh", "-c", "echo hi"};
    want.env = {{"PATH", "/usr/bin"}};
    want.cwd = "/ws";
    for (int i = 0; i < 32; ++i) want.token.push_back(static_cast<char>(i));
    EXPECT_EQ(*start, want);
    return;
  }
  FAIL() << "no exec_start row";
}

TEST(ExecStart, BytesAreTakenInEitherFormAndWrittenAsTextExactlyWhenTheyAreText) {
  const Value body(Map{{"argv", Array{Binary{"plain"}, Binary{"\xff"}}},
                       {"env", Map{{"A", Binary{"text"}}}},
                       {"cwd", Binary{"/ws"}},
                       {"token", Binary{"t"}}});
  const auto start = decode_exec_start(body);
  ASSERT_TRUE(start);
  const Value again = encode(*start);
  EXPECT_EQ(*again.find("argv"), Value(Array{"plain", Binary{"\xff"}}));
  EXPECT_EQ(*again.find("env"), Value(Map{{"A", "text"}}));
  EXPECT_EQ(*again.find("cwd"), Value("/ws"));
}

Error start_fault(std::string_view key, const Value& value) {
  const auto body = sample_bodies(Channel::kExec, Kind::kExecStart).front();
  const auto start = decode_exec_start(with(body, key, value));
  return start ? Error{"accepted", "", "", ""} : start.error();
}

TEST(ExecStart, WhatAJailCannotBeGivenIsRefusedByKey) {
  const std::string nul("a\0b", 3);
  EXPECT_EQ(start_fault("argv", Value(Array{})).where, "exec_start: /argv");
  EXPECT_EQ(start_fault("argv", Value(Array{"a", 1})).where, "exec_start: /argv/1");
  EXPECT_EQ(start_fault("argv", Value(Array{"a", Binary{nul}})).what, "holds a NUL");
  EXPECT_EQ(start_fault("cwd", Value(nul)).where, "exec_start: /cwd");
  EXPECT_EQ(start_fault("env", Value(Map{{"", "x"}})).what, "entry 0: an empty name");
  EXPECT_EQ(start_fault("env", Value(Map{{"A", "x"}, {nul, "x"}})).what, "entry 1: a name that holds a NUL");
  EXPECT_EQ(start_fault("env", Value(Map{{"A", nul}})).what, "entry 0: a value that holds a NUL");
  EXPECT_EQ(start_fault("token", Value("text")).what, "wrong type: want bytes, got text");
  EXPECT_EQ(start_fault("why", Value("because")).where, "exec_start: /why");
  EXPECT_EQ(start_fault("tty", Value(Map{{"rows", 1}})).text(), "exec_start: /tty/cols: missing key");
  EXPECT_EQ(start_fault("tty", Value(Map{{"rows", 65536}, {"cols", 1}})).what, "out of range: want 0..65535");
  EXPECT_EQ(start_fault("limits", Value(Map{{"wall_s", -1}})).text(),
            "exec_start: /limits/wall_s: negative: want a count");
  EXPECT_EQ(start_fault("limits", Value(Map{{"walls", 1}})).text(), "exec_start: /limits/walls: unknown key");
  EXPECT_EQ(start_fault("limits", Value(Map{{"pids", 1.5}})).what, "wrong type: want integer, got number");
}

TEST(ExecStart, TheFirstFaultInTheOrderOfTheTableIsTheOneNamed) {
  const Value body(Map{{"surprise", 1}, {"cwd", 1}, {"argv", Array{}}});
  EXPECT_EQ(decode_exec_start(body).error().where, "exec_start: /argv");
}

TEST(CallSpecBody, DefaultsAreThoseOfTheTable) {
  const auto spec = decode_call_spec(Value(Map{{"op_id", "o"}, {"step_id", "s"}, {"argv", Array{"true"}}}));
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->narrowed, "refuse");
  EXPECT_EQ(spec->demand, "platform");
  EXPECT_EQ(spec->budget, (CallBudget{4, 0}));
  EXPECT_EQ(spec->waiting_ms, 30000U);
  EXPECT_EQ(spec->deadline_ms, 0U);
  EXPECT_TRUE(spec->wants_stdin);
  EXPECT_EQ(spec->session, "no");
  EXPECT_FALSE(spec->requirements || spec->why || spec->tty || spec->cwd);
  EXPECT_TRUE(spec->grants.empty() && spec->caps.empty() && spec->caller.empty() && spec->env.empty());
}

Error spec_fault(std::string_view key, const Value& value) {
  const auto body = sample_bodies(Channel::kControl, Kind::kClearCall).front();
  const auto spec = decode_call_spec(with(body, key, value));
  return spec ? Error{"accepted", "", "", ""} : spec.error();
}

TEST(CallSpecBody, AFaultIsABadRequestThatNamesItsKey) {
  EXPECT_EQ(spec_fault("op_id", Value("")).code, "bad_request");
  EXPECT_EQ(spec_fault("op_id", Value("")).text(), "clear_call: /op_id: out of range: want 1..128 bytes");
  EXPECT_EQ(spec_fault("op_id", Value(std::string(128, 'x'))).code, "accepted");
  EXPECT_EQ(spec_fault("step_id", Value(std::string(129, 'x'))).where, "clear_call: /step_id");
  EXPECT_EQ(spec_fault("argv", Value(Array{})).where, "clear_call: /argv");
  EXPECT_EQ(spec_fault("budget", Value(Map{{"max_outstanding", 0}})).where, "clear_call: /budget/max_outstanding");
  EXPECT_EQ(spec_fault("budget", Value(Map{{"deadline_ms", 5}})).code, "accepted");
  EXPECT_EQ(spec_fault("waiting_ms", Value(~std::uint64_t{0})).where, "clear_call: /waiting_ms");
  EXPECT_EQ(spec_fault("session", Value("maybe")).where, "clear_call: /session");
  EXPECT_EQ(spec_fault("narrowed", Value("perhaps")).where, "clear_call: /narrowed");
  EXPECT_EQ(spec_fault("grants", Value(Array{Map{{"kind", "env"}}})).text(),
            "clear_call: /grants/0/value: missing key");
  EXPECT_EQ(spec_fault("grants", Value(Array{Map{{"kind", "limit"}, {"value", 1}}})).where,
            "clear_call: /grants/0/field");
  EXPECT_EQ(spec_fault("grants", Value(Array{Map{{"kind", "env"}, {"value", "A"}, {"field", "x"}}})).what,
            "unknown key");
  EXPECT_EQ(spec_fault("tty", Value(Map{{"rows", 1}, {"cols", -1}})).text(),
            "clear_call: /tty/cols: negative: want a count");
  EXPECT_EQ(spec_fault("tty", Value(3)).code, "bad_request");
}

TEST(ExecExitBody, CodesMayBeNegativeButNotOverAnInt) {
  const auto body = sample_bodies(Channel::kExec, Kind::kExecExit).front();
  EXPECT_EQ(decode_exec_exit(with(body, "code", Value(-1)))->code, -1);
  EXPECT_FALSE(decode_exec_exit(with(body, "code", Value(~std::uint64_t{0}))));
  EXPECT_FALSE(decode_exec_exit(with(body, "stdout_bytes", Value(-1))));
}

}  // namespace
}  // namespace loom
