#include "plan/report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/contradictions.h"

namespace loom {
namespace {

const Report kContainer = {"namespaces:net=fresh", "mounts:ro=0,rw=1", "unprivileged", "no-new-privs",
                           "landlock:abi=7",       "seccomp-base",     "seccomp-net",  "rlimit-core"};

Report with(Report report, const Report& more) {
  report.insert(report.end(), more.begin(), more.end());
  return report;
}

Report without(Report report, std::string_view name) {
  report.erase(std::remove_if(report.begin(), report.end(), [&](const auto& e) { return layer_of(e) == name; }),
               report.end());
  return report;
}

Policy pids_only() {
  Policy policy;
  policy.limits.pids = 64;
  return policy;
}

TEST(Report, ALayerIsTheTextUpToTheFirstColonOrEqualsSign) {
  EXPECT_EQ(layer_of("landlock:abi=7"), "landlock");
  EXPECT_EQ(layer_of("mounts:ro=2"), "mounts");
  EXPECT_EQ(layer_of("pids-userns=65"), "pids-userns");
  EXPECT_EQ(layer_of("no-new-privs"), "no-new-privs");
  EXPECT_EQ(layer_of(""), "");
}

TEST(Report, WhatIsNoLayerNamesNone) {
  for (const char* entry :
       {"skip:landlock: no", "verified:landlock", "event:landlock=1", "denied:landlock", "attempt:landlock"}) {
    EXPECT_EQ(layer_of(entry), "") << entry;
  }
}

TEST(Report, DemandsReadBackWhatTheyAreCalled) {
  for (const Demand demand : {Demand::kBestEffort, Demand::kPlatform, Demand::kFull}) {
    Demand read = Demand::kBestEffort;
    EXPECT_TRUE(parse_demand(to_text(demand), read));
    EXPECT_EQ(read, demand);
  }
  Demand kept = Demand::kFull;
  EXPECT_FALSE(parse_demand("Full", kept));
  EXPECT_FALSE(parse_demand("", kept));
  EXPECT_EQ(kept, Demand::kFull);
}

TEST(Report, APolicyWithoutLimitsRequiresTheTableOfAlways) {
  const std::vector<std::string> expected = {"namespaces", "mounts",       "unprivileged", "no-new-privs",
                                             "landlock",   "seccomp-base", "seccomp-net",  "rlimit-core"};
  EXPECT_EQ(required_layers(Policy{}, {}), expected);
  EXPECT_EQ(required_layers(Policy{}, {"bwrap"}).front(), "bwrap");
  EXPECT_EQ(required_layers(Policy{}, {"bwrap", "namespaces:net=fresh"}).front(), "namespaces");
}

TEST(Report, EachLimitRequiresItsLayer) {
  Policy policy;
  policy.limits = {1, 1, 1, 1, 1, 1};
  policy.network.mode = NetworkMode::kProxy;
  const auto names = required_layers(policy, {});
  for (const char* name : {"cgroup-v2", "rlimit-cpu", "rlimit-fsize", "egress-proxy"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(Report, PidsAloneMayBeHeldByTheUserNamespaceButMemoryMayNot) {
  const Report features = {"pids-userns"};
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has(required_layers(pids_only(), features), "pids-userns"));
  EXPECT_TRUE(has(required_layers(pids_only(), {}), "cgroup-v2"));
  Policy both = pids_only();
  both.limits.mem_bytes = 1;
  EXPECT_TRUE(has(required_layers(both, features), "cgroup-v2"));
  EXPECT_FALSE(judge_report(both, features, with(kContainer, {"pids-userns"}), false, Demand::kFull).none());
  EXPECT_TRUE(judge_report(pids_only(), features, with(kContainer, {"cgroup-v2"}), false, Demand::kFull).none());
  EXPECT_TRUE(judge_report(pids_only(), {}, with(kContainer, {"pids-userns"}), false, Demand::kFull).none());
  EXPECT_FALSE(judge_report(pids_only(), features, kContainer, false, Demand::kFull).none());
}

TEST(Report, ASkippedCgroupIsForgivenOnlyWherePidsUsernsStandsForIt) {
  const Report report = with(kContainer, {"pids-userns", "skip:cgroup-v2: no delegated base"});
  EXPECT_TRUE(judge_report(pids_only(), {"pids-userns"}, report, false, Demand::kPlatform).none());
  Policy both = pids_only();
  both.limits.mem_bytes = 1;
  EXPECT_FALSE(judge_report(both, {"pids-userns"}, report, false, Demand::kPlatform).none());
}

TEST(Report, ACompleteReportMeetsEveryDemand) {
  for (const Demand demand : {Demand::kBestEffort, Demand::kPlatform, Demand::kFull}) {
    EXPECT_TRUE(judge_report({}, {}, kContainer, false, demand).none());
  }
}

TEST(Report, ALayerThatSaysNothingIsMissing) {
  for (const std::string& name : required_layers({}, {})) {
    const Shortfall shortfall = judge_report({}, {}, without(kContainer, name), false, Demand::kPlatform);
    EXPECT_EQ(shortfall.missing, std::vector<std::string>{name});
    EXPECT_EQ(shortfall.text(), "missing " + name);
  }
  EXPECT_EQ(judge_report({}, {}, {}, false, Demand::kFull).missing, required_layers({}, {}));
}

TEST(Report, AVerifiedEntryAloneDoesNotMakeALayer) {
  const Report report = with(without(kContainer, "landlock"), {"verified:landlock"});
  EXPECT_EQ(judge_report({}, {}, report, false, Demand::kFull).missing, std::vector<std::string>{"landlock"});
}

TEST(Report, AnySkipFailsAFullDemandAlsoBesideItsLayer) {
  const std::string skip = skip_entry("mounts", "/ws: not read-only");
  EXPECT_EQ(skip, "skip:mounts: /ws: not read-only");
  const Report report = with(kContainer, {skip, skip});
  EXPECT_EQ(unapplied_layers(report), std::vector<std::string>{"mounts"});
  EXPECT_EQ(judge_report({}, {}, report, false, Demand::kFull).skipped, (std::vector<std::string>{skip, skip}));
  EXPECT_TRUE(judge_report({}, {}, report, false, Demand::kBestEffort).none());
}

TEST(Report, ASecondNameOfAFrozenFileFailsAFullDemandAndOtherEventsDoNot) {
  const Report alias = with(kContainer, {"event:hardlink-alias=/ws/.env"});
  EXPECT_EQ(judge_report({}, {}, alias, false, Demand::kFull).text(), "event:hardlink-alias=/ws/.env");
  Policy policy;
  policy.protected_paths = {"/ws/key", "/ws/.env"};
  EXPECT_EQ(words_of_aliases(policy, judge_report({}, {}, alias, false, Demand::kFull)),
            "; protected[1]: /ws/.env: has another name, and what is done by that one is not held");
  EXPECT_EQ(words_of_aliases(policy, {{"landlock"}, {"skip:mounts: /ws/.env: open"}}), "");
  EXPECT_TRUE(judge_report({}, {}, with(kContainer, {"event:unguarded=/ws/.env"}), false, Demand::kFull).none());
}

TEST(Report, WithoutAContainerADemandIsShortWhateverTheReportSays) {
  EXPECT_EQ(judge_report({}, {}, kContainer, true, Demand::kFull).missing, std::vector<std::string>{"namespaces"});
  EXPECT_TRUE(judge_report({}, {}, kContainer, true, Demand::kBestEffort).none());
}

TEST(Report, APlatformWithoutAJailMeetsThePlatformDemandAndNeverTheFullOne) {
  const Report features = {"skip:jail: unsupported platform"};
  EXPECT_TRUE(judge_report({}, features, features, true, Demand::kPlatform).none());
  EXPECT_FALSE(judge_report({}, features, features, true, Demand::kFull).none());
}

TEST(Report, TheContainerIsTheOneTheHelloNamed) {
  const Report bwrap = with(without(kContainer, "namespaces"), {"bwrap"});
  EXPECT_TRUE(judge_report({}, {"bwrap"}, bwrap, false, Demand::kFull).none());
  EXPECT_FALSE(judge_report({}, {"namespaces:net=fresh"}, bwrap, false, Demand::kFull).none());
}

std::vector<std::string> doubts(const Policy& policy, const Report& features, const Report& report) {
  EXPECT_EQ(judge_report(policy, features, report, false, Demand::kPlatform).skipped,
            judge_report(policy, features, report, false, Demand::kFull).skipped);
  EXPECT_TRUE(judge_report(policy, features, report, false, Demand::kBestEffort).none());
  return contradictions(policy, features, report);
}

using Doubts = std::vector<std::string>;

TEST(Contradictions, AnHonestReportHasNone) {
  Report verified = kContainer;
  for (const std::string& entry : kContainer) verified.push_back("verified:" + std::string(layer_of(entry)));
  EXPECT_EQ(doubts({}, kContainer, verified), Doubts{});
  EXPECT_EQ(doubts({}, with(kContainer, {"skip:cgroup-v2: no base"}), verified), Doubts{});
  EXPECT_EQ(doubts({}, kContainer, with(without(verified, "landlock"), {"landlock:abi=4"})), Doubts{});
  EXPECT_EQ(doubts({}, {}, {}), Doubts{});
}

TEST(Contradictions, WhatTheHelloSaidCannotBeHeldIsNotBelieved) {
  const Report features = with(without(kContainer, "landlock"), {"skip:landlock: this kernel has it not"});
  EXPECT_EQ(doubts({}, features, kContainer), Doubts{"doubt:landlock: its hello said that it cannot be held here"});
  EXPECT_FALSE(judge_report({}, features, kContainer, false, Demand::kPlatform).none());
  const Report proxy = with(kContainer, {"skip:egress-proxy: the policy names none"});
  EXPECT_EQ(doubts({}, proxy, with(kContainer, {"egress-proxy"})), Doubts{}) << "that is the policy's, not the host's";
}

TEST(Contradictions, ALandlockNewerThanTheHellosIsNotBelieved) {
  const Report report = with(without(kContainer, "landlock"), {"landlock:abi=8"});
  EXPECT_EQ(doubts({}, kContainer, report), Doubts{"doubt:landlock: a newer one than its hello said"});
}

TEST(Contradictions, WhatThePolicyDoesNotGiveIsNoLayer) {
  Policy open;
  open.network.mode = NetworkMode::kFull;
  const Report host_net = with(without(kContainer, "namespaces"), {"namespaces:net=host"});
  EXPECT_EQ(doubts({}, kContainer, host_net),
            Doubts{"doubt:namespaces: the host's network, which the policy does not give"});
  EXPECT_EQ(doubts(open, kContainer, host_net), Doubts{});
  Policy whole;
  whole.readable_roots = {"/"};
  const Report host_view = with(without(kContainer, "mounts"), {"mounts:ro=1,rw=0,scratch=tmpfs,base=host-view"});
  EXPECT_EQ(doubts({}, kContainer, host_view),
            Doubts{"doubt:mounts: the host's whole tree, which the policy does not name"});
  EXPECT_EQ(doubts(whole, kContainer, host_view), Doubts{});
}

TEST(Contradictions, AVerifiedLayerIsAClaimedOne) {
  EXPECT_EQ(doubts({}, kContainer, with(without(kContainer, "seccomp-net"), {"verified:seccomp-net"})),
            Doubts{"doubt:seccomp-net: verified, and not claimed"});
}

}  // namespace
}  // namespace loom
