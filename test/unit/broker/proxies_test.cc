// The egress stage, its proxies and what they mean for calls (spec/egress.md "How the jail reaches it").
#include "broker/proxies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "policy/compose.h"
#include "test/support/broker_world.h"

namespace loom::broker {
namespace {

using test::count_at;
using test::World;

BrokerConfig with_proxies() {
  BrokerConfig config = test::small_config();
  config.allow_grants = true;
  config.can_proxy = true;
  config.jail_dir = "/run/loom/jail-7";
  return config;
}

struct Egress : public testing::Test {
  explicit Egress(BrokerConfig config = with_proxies()) : world(std::move(config)) {
    world.layers.emplace_back("egress-proxy:bridge=77");
    conn = world.connect();
  }
  static CallSpec to(const std::string& entries) {
    CallSpec spec = World::spec();
    spec.budget.max_outstanding = 100;
    spec.grants = {encode_grant(*parse_grant("network=proxy:" + entries))};
    return spec;
  }
  std::uint64_t call(const std::string& entries) { return world.call(conn, to(entries)); }
  test::Heard& heard(std::uint64_t id) { return world.heard(conn, id); }
  void exit_all(std::int64_t code = 0) {
    for (const auto& [helper, start] : world.running()) world.exit(helper, start, code);
  }
  std::vector<std::string> told(std::uint64_t id) {
    std::vector<std::string> out;
    for (const std::string& entry : heard(id).settlement->exited->enforcement) {
      if (entry.rfind("denied:egress", 0) == 0 || entry.rfind("event:egress", 0) == 0) out.push_back(entry);
    }
    return out;
  }
  World world;
  ConnId conn = 0;
};
using Strings = std::vector<std::string>;

TEST_F(Egress, ACallUnderAnAllowListGetsTheSocketOfAProxyForIt) {
  const auto id = call("git.test:8443");
  ASSERT_EQ(heard(id).started, 1);
  ASSERT_EQ(world.proxies.size(), 1U);
  EXPECT_EQ(world.proxies[1].allow, Strings{"git.test:8443"});
  const Value* network = world.started.at(0).policy->find("network");
  EXPECT_EQ(*network->find("proxy"), Value("/run/loom/jail-7/proxy-1.sock"));
}

TEST_F(Egress, ListsThatMeanTheSameShareAProxyAndOthersDoNot) {
  call("a.test,b.test");
  call("b.test,A.test");
  call("c.test");
  EXPECT_EQ(world.proxies.size(), 2U);
  EXPECT_EQ(world.running().size(), 3U);
  EXPECT_EQ(count_at(world.snapshot(), {"egress", "refusals"}), 0U);
}

TEST_F(Egress, ACallWaitsForItsProxyAndHoldsUpNobodyElse) {
  world.answer_proxy = false;
  const auto waits = call("a.test");
  const auto other = world.call(conn);
  EXPECT_EQ(heard(waits).started, 0);
  EXPECT_EQ(heard(other).started, 1) << "it needs no proxy";
  world.post(ProxyReady{1});
  EXPECT_EQ(heard(waits).started, 1);
}

TEST_F(Egress, AProxyThatNeverComesIsSaidWithinTheCallsWaitingTime) {
  world.answer_proxy = false;
  CallSpec spec = to("a.test");
  spec.waiting_ms = 2000;
  const auto id = world.call(conn, spec);
  world.pass(seconds(3));
  ASSERT_EQ(heard(id).refused, 1);
  EXPECT_EQ(heard(id).refusal->reason, "egress_unavailable");
  EXPECT_EQ(count_at(world.snapshot(), {"books", "reserved"}), 0U);
  EXPECT_EQ(count_at(world.snapshot(), {"books", "tokens"}), 0U);
  world.pass(seconds(10));
  EXPECT_TRUE(world.proxies[1].stopped) << "nobody waits for ever for a start";
}

TEST_F(Egress, AProxyThatEndsBeforeItIsReadyRefusesWhoWaitsAndTheNextCallTriesAgain) {
  world.answer_proxy = false;
  const auto first = call("a.test");
  world.post(ProxyEnded{1, "exit status 2"});
  ASSERT_EQ(heard(first).refused, 1);
  EXPECT_EQ(heard(first).refusal->reason, "egress_unavailable");
  EXPECT_NE(render_json(heard(first).refusal->detail).find("exit status 2"), std::string::npos);
  world.answer_proxy = true;
  EXPECT_EQ(heard(call("a.test")).started, 1);
  EXPECT_EQ(world.proxies.size(), 2U);
}

TEST_F(Egress, OneThatDiesInMidCallIsStartedOnceMoreOnItsSocketAndTheCallTellsIt) {
  const auto id = call("a.test");
  world.post(ProxyEnded{1, "killed by signal 9"});
  EXPECT_EQ(world.proxies[1].starts, 2);
  EXPECT_FALSE(world.proxies[1].stopped);
  const auto later = call("a.test");
  world.post(ProxyEnded{1, "killed by signal 9"});
  EXPECT_EQ(world.proxies[1].starts, 2) << "once";
  EXPECT_TRUE(world.proxies[1].stopped) << "closed, never open";
  exit_all();
  EXPECT_EQ(told(id), Strings{"event:egress-lost=2"});
  EXPECT_EQ(told(later), Strings{"event:egress-lost=1"});
  EXPECT_EQ(heard(call("a.test")).started, 1) << "another call gets another proxy";
  EXPECT_EQ(world.proxies[2].starts, 1);
}

TEST_F(Egress, ItIsGoneAMinuteAfterTheLastCall) {
  call("a.test");
  world.pass(seconds(600));
  EXPECT_TRUE(world.proxies[1].running) << "in use";
  exit_all();
  world.pass(seconds(59));
  EXPECT_TRUE(world.proxies[1].running);
  world.pass(seconds(2));
  EXPECT_TRUE(world.proxies[1].stopped);
}

TEST_F(Egress, ThereAreAtMostSixteenAndAnIdleOneMakesPlace) {
  for (int i = 0; i < 16; ++i) {
    call("h" + std::to_string(i) + ".test");
    exit_all();
    world.pass(milliseconds(10));
  }
  EXPECT_EQ(heard(call("one.more.test")).started, 1);
  EXPECT_TRUE(world.proxies[1].stopped) << "idle for longest";
  const auto running = [&] {
    return std::count_if(world.proxies.begin(), world.proxies.end(), [](const auto& p) { return p.second.running; });
  };
  EXPECT_EQ(running(), 16);
}

TEST(EgressFull, SixteenListsInUseAreAllThereAre) {
  BrokerConfig config = with_proxies();
  config.pool_size = 20;
  World world(config);
  world.layers.emplace_back("egress-proxy");
  const ConnId conn = world.connect();
  std::uint64_t last = 0;
  for (int i = 0; i < 17; ++i) last = world.call(conn, Egress::to("h" + std::to_string(i) + ".test"));
  ASSERT_EQ(world.heard(conn, last).refused, 1);
  EXPECT_EQ(world.heard(conn, last).refusal->reason, "egress_unavailable");
}

TEST_F(Egress, WhatWasRefusedIsToldOnceAtTheEndOfTheCall) {
  const auto id = call("a.test");
  world.post(ProxyRefusals{1, {{77, "other.test:443", "not_allowed"}, {77, "other.test:443", "not_allowed"}}});
  world.post(ProxyRefusals{1, {{99, "b.test:22", "not_allowed"}}});
  exit_all();
  EXPECT_EQ(told(id), (Strings{"denied:egress: other.test:443 refused: not_allowed",
                               "denied:egress: b.test:22 refused: not_allowed"}))
      << "nobody else used it";
  EXPECT_EQ(count_at(world.snapshot(), {"egress", "refusals"}), 3U);
}

TEST_F(Egress, OfMoreThanCanBeToldTheRestIsCounted) {
  const auto id = call("a.test");
  std::vector<EgressRefused> many;
  for (std::size_t i = 0; i < kMostRefusalsTold + 3; ++i) many.push_back({77, "h" + std::to_string(i), "not_allowed"});
  many.push_back({99, "by-another-peer", "not_allowed"});
  many.push_back({77, "h0", "not_allowed"});
  world.post(ProxyRefusals{1, many});
  exit_all();
  const Strings entries = told(id);
  ASSERT_EQ(entries.size(), kMostRefusalsTold + 1);
  EXPECT_EQ(entries.back(), "denied:egress: (others) refused: 4");
}

TEST_F(Egress, TheConfigurationAndTheRecordOfTheWayOutAreProtected) {
  BrokerConfig config = with_proxies();
  config.way_out_files = {"/w/egress.json", "/w/calls.jsonl"};
  World there(config);
  there.layers.emplace_back("egress-proxy:bridge=77");
  const ConnId by = there.connect();
  there.call(by, to("a.test"));
  const auto* hidden = there.started.at(0).policy->find("protected")->get_if<Array>();
  for (const Path& file : config.way_out_files)
    EXPECT_NE(std::find(hidden->begin(), hidden->end(), Value(file)), hidden->end()) << file;
}

TEST_F(Egress, OfASharedProxyACallIsToldWhatItsOwnBridgeAskedFor) {
  const auto one = call("a.test");
  call("a.test");
  world.post(ProxyRefusals{1, {{77, "mine.test:443", "not_allowed"}, {78, "theirs.test:443", "not_allowed"}}});
  const auto running = world.running();
  world.exit(running.at(0).first, running.at(0).second);
  EXPECT_EQ(told(one), Strings{"denied:egress: mine.test:443 refused: not_allowed"});
}

TEST_F(Egress, AHelperWithoutABridgeIsNoHelperForIt) {
  World bare(with_proxies());
  const ConnId there = bare.connect();
  const auto id = bare.call(there, to("a.test"));
  ASSERT_EQ(bare.heard(there, id).refused, 1);
  EXPECT_EQ(bare.heard(there, id).refusal->reason, "degraded_helper");
  EXPECT_EQ(count_at(bare.snapshot(), {"books", "tokens"}), 0U);
}

TEST_F(Egress, ACloseEndsThemAll) {
  call("a.test");
  world.post(CloseRequested{0});
  world.pass(seconds(20));
  EXPECT_TRUE(world.proxies[1].stopped);
  ASSERT_FALSE(world.verdicts.empty());
  EXPECT_TRUE(world.verdicts.back().clean);
}

TEST_F(Egress, AViewThatWouldShowTheSocketsOfJailsDoesNot) {
  const auto protects = [&](std::size_t call) {
    const auto* list = world.started.at(call).policy->find("protected")->get_if<Array>();
    return std::find(list->begin(), list->end(), Value("/run/loom")) != list->end();
  };
  world.call(conn);
  EXPECT_FALSE(protects(0)) << "nothing shows them";
  CallSpec spec = World::spec();
  spec.grants = {encode_grant(*parse_grant("readable_root=/"))};
  world.call(conn, spec);
  EXPECT_TRUE(protects(1));
}

TEST_F(Egress, AnOperatorsOwnProxyIsLeftToIt) {
  BrokerConfig config = with_proxies();
  config.can_proxy = false;
  config.base.network = {NetworkMode::kProxy, {"a.test"}, "/run/operator.sock"};
  World named(config);
  named.layers.emplace_back("egress-proxy");
  const ConnId there = named.connect();
  const auto id = named.call(there);
  EXPECT_EQ(named.heard(there, id).started, 1);
  EXPECT_TRUE(named.proxies.empty());
}

TEST_F(Egress, NoHostOfACallIsInASnapshotOrALogLine) {
  call("marker-5417.test");
  world.post(ProxyRefusals{1, {{77, "marker-5417-refused.test:443", "not_allowed"}}});
  exit_all();
  std::string seen = render_json(world.snapshot());
  for (const LogLine& line : world.log) seen += render_logfmt(line);
  EXPECT_EQ(seen.find("marker-5417"), std::string::npos) << seen;
}

BrokerConfig with_endpoint() {
  BrokerConfig config = with_proxies();
  config.egress_callers = {"tool"};
  return config;
}
struct Endpoint : public Egress {
  Endpoint() : Egress(with_endpoint()) {}
  std::uint64_t call_by(const std::string& caller, std::map<std::string, std::string> env = {}) {
    CallSpec spec = World::spec();
    spec.budget.max_outstanding = 100;
    spec.caller = caller;
    spec.env = std::move(env);
    return world.call(conn, spec);
  }
  const std::map<std::string, std::string>& env_of(std::size_t call) { return world.started.at(call).env; }
};

TEST_F(Endpoint, ACallerWithAGrantGetsASocketAndATokenThatDiesWithItsCall) {
  call_by("tool");
  call_by("tool");
  ASSERT_EQ(world.proxies.size(), 1U) << "one endpoint";
  EXPECT_EQ(env_of(0).at("LOOM_EGRESS_SOCKET"), world.proxies[1].socket);
  const std::string one = env_of(0).at("LOOM_EGRESS_TOKEN");
  EXPECT_EQ(one.size(), 64U);
  EXPECT_NE(one, env_of(1).at("LOOM_EGRESS_TOKEN"));
  EXPECT_EQ(world.granted.size(), 2U);
  EXPECT_EQ(world.granted.at(sha256_hex(one)), "tool");
  exit_all();
  EXPECT_TRUE(world.granted.empty());
  world.pass(seconds(61));
  EXPECT_TRUE(world.proxies[1].stopped);
}

TEST_F(Endpoint, OthersGetNothingAndNobodySetsLoomsNames) {
  for (const char* name : {"LOOM_EGRESS_SOCKET", "LOOM_EGRESS_TOKEN"}) {
    const auto id = call_by("tool", {{name, "/etc/shadow"}});
    ASSERT_EQ(heard(id).refused, 1);
    EXPECT_EQ(heard(id).refusal->reason, "bad_request");
  }
  call_by("stranger", {{"LANG", "C"}});
  call_by("");
  EXPECT_EQ(env_of(0), (std::map<std::string, std::string>{{"LANG", "C"}}));
  EXPECT_TRUE(env_of(1).empty());
  EXPECT_TRUE(world.proxies.empty());
}

TEST_F(Endpoint, ACallThatWaitsForASlotHoldsNoToken) {
  for (int i = 0; i < 4; ++i) call_by("tool");
  const auto waits = call_by("tool");
  EXPECT_EQ(heard(waits).started, 0);
  EXPECT_EQ(world.granted.size(), 4U);
  exit_all();
  EXPECT_EQ(heard(waits).started, 1);
  EXPECT_EQ(world.granted.size(), 1U);
}

}  // namespace
}  // namespace loom::broker
