#include "service/call_flags.h"

#include <gtest/gtest.h>

namespace loom::service {
namespace {

CallerFacts facts() {
  return CallerFacts{"/home/u/work", [](const std::string& name) -> std::optional<std::string> {
                       if (name == "SET") return "here";
                       if (name == "HOME") return "/home/u";
                       return std::nullopt;
                     }};
}

cli::Parsed line(std::map<std::string, std::vector<std::string>> options) {
  cli::Parsed parsed;
  parsed.options = std::move(options);
  parsed.rest = {"true"};
  return parsed;
}

CallFlags read(std::map<std::string, std::vector<std::string>> options) {
  const auto flags = read_call_flags(line(std::move(options)), facts());
  EXPECT_TRUE(flags) << flags.error().text();
  return flags.value_or(CallFlags{});
}

std::string refused_at(std::map<std::string, std::vector<std::string>> options) {
  const auto flags = read_call_flags(line(std::move(options)), facts());
  EXPECT_FALSE(flags);
  return flags ? "" : flags.error().where;
}

TEST(CallFlags, AnEnvironmentFlagSetsTheValueAndImpliesTheGrant) {
  const CallFlags flags = read({{"--env", {"A=1=2", "SET", "UNSET", "E="}}});
  EXPECT_EQ(flags.env, (std::map<std::string, std::string>{{"A", "1=2"}, {"SET", "here"}, {"E", ""}}));
  ASSERT_EQ(flags.grants.size(), 4U);
  EXPECT_EQ(flags.grants[2].kind, "env");
  EXPECT_EQ(flags.grants[2].value, Value("UNSET"));
}

TEST(CallFlags, AllowedHostsAreOneGrantOfAProxy) {
  const CallFlags flags = read({{"--allow-host", {"example.org", "*.example.org:8443"}}});
  ASSERT_EQ(flags.grants.size(), 1U);
  EXPECT_EQ(flags.grants[0].kind, "network");
  EXPECT_EQ(*flags.grants[0].value.find("mode"), Value("proxy"));
  EXPECT_EQ(*flags.grants[0].value.find("allow"), Value(Array{"example.org", "*.example.org:8443"}));
}

TEST(CallFlags, PlacesAreAbsoluteAndCanonical) {
  const CallFlags flags = read({{"--workspace", {"../other//./x"}}, {"--cwd", {"sub"}}});
  EXPECT_EQ(flags.workspace, "/home/u/other/x");
  EXPECT_EQ(flags.cwd, "/home/u/work/sub");
  EXPECT_EQ(absolute_path("/../..", "/a"), "/");
  EXPECT_EQ(absolute_path("/a/b/", "/x"), "/a/b");
}

TEST(CallFlags, WhatIsWrongIsNamedByItsFlag) {
  EXPECT_EQ(refused_at({{"--policy", {"p"}}, {"--workspace", {"w"}}}), "--workspace");
  EXPECT_EQ(refused_at({{"--env", {"=x"}}}), "--env");
  EXPECT_EQ(refused_at({{"--demand", {"most"}}}), "--demand");
  EXPECT_EQ(refused_at({{"--narrowed", {"maybe"}}}), "--narrowed");
  EXPECT_EQ(refused_at({{"--why", {"not"}}}), "--why");
  EXPECT_EQ(refused_at({{"--timeout", {"0s"}}}), "--timeout");
  EXPECT_EQ(refused_at({{"--timeout", {"soon"}}}).rfind("--timeout", 0), 0U);
  EXPECT_EQ(refused_at({{"--status-fd", {"70000"}}}), "--status-fd");
  EXPECT_EQ(refused_at({{"--grant", {"nonsense"}}}).rfind("--grant", 0), 0U);
  EXPECT_EQ(refused_at({{"--cwd", {""}}}), "--cwd");
}

TEST(CallFlags, WithoutACommandThereIsNothingToRun) {
  cli::Parsed parsed;
  EXPECT_FALSE(read_call_flags(parsed, facts()));
}

TEST(CallFlags, TheEnvironmentIsTheAllowedNamesOfTheCallerUnderTheFlagsOwn) {
  CallFlags flags;
  flags.env = {{"HOME", "/elsewhere"}};
  EXPECT_EQ(requested_environment({"HOME", "SET", "ABSENT"}, flags, facts()),
            (std::map<std::string, std::string>{{"HOME", "/elsewhere"}, {"SET", "here"}}));
}

TEST(CallFlags, ACommandStartsWhereTheCallerIsWhenARootCoversItElseInTheWorkspace) {
  Policy policy;
  CallFlags flags;
  EXPECT_EQ(requested_cwd(policy, flags, facts()), std::nullopt);
  policy.writable_roots = {"/ws", "/ws2"};
  EXPECT_EQ(requested_cwd(policy, flags, facts()), "/ws");
  flags.workspace = "/ws2";
  EXPECT_EQ(requested_cwd(policy, flags, facts()), "/ws2");
  policy.readable_roots = {"/home/u"};
  EXPECT_EQ(requested_cwd(policy, flags, facts()), "/home/u/work");
  flags.cwd = "/home/u/work/sub";
  EXPECT_EQ(requested_cwd(policy, flags, facts()), "/home/u/work/sub");
}

TEST(CallFlags, EveryFlagThatIsReadIsDeclaredForTheFrontThatHasIt) {
  const auto names = [](CallFront front) {
    std::vector<std::string> found;
    for (const auto& option : call_options(front)) found.push_back(option.name);
    return found;
  };
  const auto run = names(CallFront::kExecRun);
  const auto call = names(CallFront::kBrokerCall);
  EXPECT_EQ(call.size(), run.size() + 2);
  EXPECT_EQ(names(CallFront::kBrokerRun), call);
}

}  // namespace
}  // namespace loom::service
