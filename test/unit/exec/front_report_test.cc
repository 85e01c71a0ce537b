#include "service/front_report.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace loom::service {
namespace {

CallFacts facts() {
  CallFacts out;
  out.policy_digest = "abc";
  return out;
}

TEST(Report, HoldsExactlyTheKeysThatArePromised) {
  CallSettled settled;
  settled.exited = ExecExit{};
  settled.exited->enforcement = {"no-new-privs", "event:unguarded=/ws/.envrc", "denied:socket"};
  const Value report = render_report(facts(), settled, 0, {"said"});
  std::vector<std::string> keys;
  for (const auto& member : *report.get_if<Map>()) keys.push_back(member.first);
  EXPECT_EQ(keys, (std::vector<std::string>{"v", "policy_digest", "narrowings", "outcome", "stopped_by", "status",
                                            "enforcement", "denied", "egress", "notes"}));
  EXPECT_EQ(render_json(*report.find("enforcement")), R"(["no-new-privs","event:unguarded=/ws/.envrc"])");
  EXPECT_EQ(render_json(*report.find("denied")), R"(["denied:socket"])");
  EXPECT_EQ(render_json(*report.find("notes")), R"(["said"])");
  EXPECT_NE(report.find("outcome")->find("exited"), nullptr);
}

TEST(Report, OfAFailureAndOfARefusalNameThemAndNoExit) {
  CallSettled settled;
  settled.failed = CallFailure{"helper_refused", Map{{"code", "bad_cwd"}, {"msg", "no such directory"}}};
  EXPECT_EQ(render_json(*render_report(facts(), settled, 125, {}).find("outcome")),
            R"({"failed":{"kind":"helper_refused","detail":{"code":"bad_cwd","msg":"no such directory"}}})");
  const CallRefused refused{"policy_refused", Map{{"narrowings", Array{}}}, {Map{{"kind", "env"}, {"value", "X"}}}};
  const Value report = render_report(facts(), refused, 125, {});
  EXPECT_EQ(
      render_json(*report.find("outcome")),
      R"({"refused":{"reason":"policy_refused","detail":{"narrowings":[]},"wanted":[{"kind":"env","value":"X"}]}})");
  EXPECT_EQ(render_json(*report.find("enforcement")), "[]");
}

TEST(StatusLines, SayTheirType) {
  EXPECT_EQ(render_json(started_line(facts())), R"({"type":"started","policy_digest":"abc","narrowings":[]})");
  CallSettled settled;
  settled.failed = CallFailure{"execution_lost", Map{{"cause", "helper_down"}}};
  EXPECT_EQ(
      render_json(settled_line(settled, 123)),
      R"({"type":"settled","outcome":{"failed":{"kind":"execution_lost","detail":{"cause":"helper_down"}}},"stopped_by":"none","status":123})");
}

TEST(Explanation, TellsWhatACeilingDidAndNothingWhereNoneDid) {
  CallSettled settled;
  EXPECT_TRUE(ceilings_told(settled).empty());
  settled.exited = ExecExit{};
  settled.exited->enforcement = {"cgroup-v2:memory.max=4096", "event:cpu-us=9"};
  EXPECT_TRUE(ceilings_told(settled).empty());
  settled.exited->enforcement.insert(settled.exited->enforcement.end(), {"event:oom-kill=2", "event:pids-max=3"});
  EXPECT_EQ(ceilings_told(settled), (std::vector<std::string>{"memory ran out: killed at mem_bytes: 2",
                                                              "processes ran out: refused at pids: 3"}));
}

TEST(Explanation, IsSilentAboutTheCommandsOwnEnd) {
  CallSettled settled;
  settled.exited = ExecExit{};
  settled.exited->code = 7;
  EXPECT_TRUE(explain_end(settled).empty());
}

TEST(Explanation, NeverSaysOfACommandThatMayHaveRunThatItDidNot) {
  CallSettled lost;
  lost.failed = CallFailure{"execution_lost", Map{{"cause", "helper_down"}}};
  ASSERT_EQ(explain_end(lost).size(), 1U);
  EXPECT_NE(explain_end(lost)[0].hint.find("may have run"), std::string::npos);
  CallSettled refused;
  refused.failed = CallFailure{"helper_refused", Map{{"code", "exec_not_found"}, {"msg", "nope: not found"}}};
  const auto said = explain_end(refused);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].code, "exec_not_found");
  EXPECT_NE(said[0].what.find("nope: not found"), std::string::npos);
  EXPECT_EQ(said[0].hint.find("may have run"), std::string::npos);
}

}  // namespace
}  // namespace loom::service
