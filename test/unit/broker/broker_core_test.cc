// The whole core with helpers and clients played.
#include "broker/broker_core.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "policy/compose.h"
#include "policy/decode.h"
#include "test/support/broker_world.h"

namespace loom::broker {
namespace {

using test::count_at;
using test::Heard;
using test::small_config;
using test::small_policy;
using test::World;

std::string reason(const Heard& heard) {
  return heard.refusal ? heard.refusal->reason : "";
}
std::string failure(const Heard& heard) {
  return heard.settlement && heard.settlement->failed ? heard.settlement->failed->kind : "";
}
std::string cause(const Heard& heard) {
  const Value* value = failure(heard).empty() ? nullptr : heard.settlement->failed->detail.find("cause");
  const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
  return text == nullptr ? "" : *text;
}

TEST(Broker, ACallStartsStreamsAndSettlesOnce) {
  World world;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  ASSERT_EQ(world.heard(conn, id).started, 1);
  const auto [helper, start] = world.running().at(0);
  world.output(helper, start, "hello ");
  world.output(helper, start, "world");
  world.exit(helper, start, 7);
  const Heard& heard = world.heard(conn, id);
  EXPECT_EQ(heard.output, "hello world");
  ASSERT_TRUE(heard.settlement && heard.settlement->exited);
  EXPECT_EQ(heard.settlement->exited->code, 7);
  EXPECT_EQ(heard.settlement->stopped_by, "none");
  EXPECT_EQ(heard.settled, 1);
  const Value after = world.snapshot();
  EXPECT_EQ(count_at(after, {"pool", "lent"}), 0U);
  EXPECT_EQ(count_at(after, {"books", "reserved"}), 0U);
  EXPECT_EQ(count_at(after, {"books", "tokens"}), 0U);
}

TEST(Broker, TheHelperIsToldWhatTheCallAskedAndNoMore) {
  BrokerConfig config = small_config();
  config.control_dir = "/run/user/1000/loom";
  config.demand = Demand::kFull;
  World world(config);
  const ConnId conn = world.connect();
  CallSpec spec = World::spec();
  spec.argv = {"ls", "-l"};
  spec.demand = "best_effort";
  spec.wants_stdin = false;
  (void)world.call(conn, spec);
  ASSERT_EQ(world.started.size(), 1U);
  const ExecStart& sent = world.started[0];
  EXPECT_EQ(sent.argv, spec.argv);
  EXPECT_EQ(sent.cwd, "/ws");
  EXPECT_EQ(sent.demand, "full") << "raised to the broker's";
  EXPECT_EQ(sent.token.size(), 32U);
  ASSERT_TRUE(sent.policy);
  const auto policy = decode_policy(*sent.policy);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->protected_paths, std::vector<Path>{"/run/user/1000/loom"});
  const auto [helper, start] = world.running().at(0);
  EXPECT_TRUE(world.helpers[helper].running[start].stdin_eof) << "absent stdin is eof";
}

TEST(Broker, StdinPassesWithinItsCreditAndPastItTheClientIsClosed) {
  World world;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  const auto [helper, start] = world.running().at(0);
  world.ask(conn, CallStdin{id, std::string(kInitialCredit, 'x'), false});
  EXPECT_EQ(world.helpers[helper].running[start].stdin_data.size(), kInitialCredit);
  world.frame(helper, 0, "exec_credit", encode(ExecCredit{start, Stream::kStdin, kInitialCredit + 1}));
  ASSERT_FALSE(world.replies.empty());
  EXPECT_EQ(std::get<CallCredit>(world.replies.back().message).upto, kInitialCredit + 1);
  world.ask(conn, CallStdin{id, "y", false});
  EXPECT_TRUE(world.closed.empty());
  world.ask(conn, CallStdin{id, "z", false});
  EXPECT_TRUE(world.closed.contains(conn));
}

TEST(Broker, ARequestThatNoFrameToTheHelperCouldHoldIsRefusedAndCostsNobodyTheHelper) {
  World world;
  const ConnId conn = world.connect();
  const auto small = world.call(conn);
  CallSpec spec = World::spec();
  spec.argv.emplace_back((16U << 20U) - 300, 'x');
  const auto big = world.call(conn, spec);
  EXPECT_EQ(reason(world.heard(conn, big)), "bad_request");
  spec.argv.back().resize(15U << 20U);
  EXPECT_EQ(world.heard(conn, world.call(conn, spec)).started, 1);
  EXPECT_EQ(world.heard(conn, small).settled, 0);
  EXPECT_EQ(count_at(world.snapshot(), {"books", "reserved"}), 2U);
}

TEST(Broker, RequirementsAreADocumentOfAtMostOneMebibyte) {
  World world;
  const ConnId conn = world.connect();
  const auto asked = [&](std::size_t roots) {
    Policy policy = small_policy();
    policy.readable_roots.clear();
    for (std::size_t i = 0; i < roots; ++i)
      policy.readable_roots.push_back("/x" + std::to_string(i) + std::string(4000, 'y'));
    CallSpec spec = World::spec();
    spec.requirements = encode_policy(policy);
    return reason(world.heard(conn, world.call(conn, spec)));
  };
  EXPECT_EQ(asked(100), "policy_refused");
  EXPECT_EQ(asked(300), "policy_invalid");
}

TEST(Broker, WhatWaitsIsBoundedInBytes) {
  World world;
  world.answer_spawn = false;
  const ConnId conn = world.connect();
  CallSpec spec = World::spec();
  spec.argv.emplace_back(15U << 20U, 'x');
  std::vector<std::uint64_t> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(world.call(conn, spec));
  EXPECT_EQ(reason(world.heard(conn, world.call(conn, spec))), "all_busy");
  EXPECT_EQ(reason(world.heard(conn, waiting.back())), "");
  // Stdin that comes early counts, too.
  const auto add = [&](const char* op) { return world.call(conn, World::spec(op)); };
  for (int i = 0; i < 4; ++i) {
    const auto id = add("small");
    world.ask(conn, CallStdin{id, std::string(kInitialCredit, 'y'), true});
    EXPECT_EQ(reason(world.heard(conn, id)), i < 3 ? "" : "all_busy") << i;
  }
  EXPECT_TRUE(world.closed.empty());
}

TEST(Broker, StdinSentBeforeTheStartIsNotLost) {
  World world;
  world.answer_spawn = false;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  world.ask(conn, CallStdin{id, "early", true});
  world.hello(1);
  const auto [helper, start] = world.running().at(0);
  EXPECT_EQ(world.helpers[helper].running[start].stdin_data, "early");
  EXPECT_TRUE(world.helpers[helper].running[start].stdin_eof);
}

TEST(Broker, CreditFromTheCallerReachesTheHelper) {
  World world;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  world.ask(conn, CallCredit{id, Stream::kStdout, kInitialCredit * 3});
  const auto [helper, start] = world.running().at(0);
  EXPECT_EQ(world.helpers[helper].running[start].stdout_upto, kInitialCredit * 3);
}

TEST(Broker, ACancelSettlesWithItsCause) {
  World world;
  const ConnId conn = world.connect();
  const ConnId other = world.connect();
  const auto id = world.call(conn);
  const auto asked = world.ask(other, CallCancel{std::nullopt, world.heard(conn, id).seq});
  EXPECT_EQ(*world.fields(asked).find("found"), Value(true));
  EXPECT_EQ(world.heard(conn, id).settlement->stopped_by, "cancel");
  const auto again = world.ask(other, CallCancel{std::nullopt, world.heard(conn, id).seq});
  EXPECT_EQ(*world.fields(again).find("found"), Value(false));
}

TEST(Broker, ACancelBeforeTheStartIsARefusal) {
  World world;
  world.answer_spawn = false;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  const auto asked = world.ask(conn, CallCancel{id, std::nullopt});
  EXPECT_EQ(*world.fields(asked).find("found"), Value(true));
  EXPECT_EQ(reason(world.heard(conn, id)), "cancelled");
  world.hello(1);
  EXPECT_TRUE(world.running().empty());
}

TEST(Broker, CallsWaitInTheOrderOfArrivalAndANewcomerDoesNotPass) {
  BrokerConfig config = small_config();
  config.pool_size = 1;
  World world(config);
  const ConnId conn = world.connect();
  const auto a = world.call(conn);
  const auto b = world.call(conn);
  const auto c = world.call(conn);
  EXPECT_EQ(world.heard(conn, b).started + world.heard(conn, c).started, 0);
  const auto [helper, start] = world.running().at(0);
  world.exit(helper, start);
  EXPECT_EQ(world.heard(conn, a).settled, 1);
  EXPECT_EQ(world.heard(conn, b).started, 1);
  EXPECT_EQ(world.heard(conn, c).started, 0);
  const auto second = world.running().at(0);
  world.exit(second.first, second.second);
  EXPECT_EQ(world.heard(conn, c).started, 1);
}

TEST(Broker, EveryWaiterLeavesWithinItsOwnBudgetWithAVerdict) {
  BrokerConfig config = small_config();
  config.pool_size = 1;
  World world(config);
  const ConnId conn = world.connect();
  (void)world.call(conn);
  CallSpec patient = World::spec();
  CallSpec hasty = World::spec();
  hasty.waiting_ms = 500;
  CallSpec never = World::spec();
  never.waiting_ms = 0;
  const auto p = world.call(conn, patient);
  const auto h = world.call(conn, hasty);
  const auto n = world.call(conn, never);
  EXPECT_EQ(reason(world.heard(conn, n)), "all_busy");
  world.pass(milliseconds(499));
  EXPECT_EQ(world.heard(conn, h).refused, 0);
  world.pass(milliseconds(1));
  EXPECT_EQ(reason(world.heard(conn, h)), "all_busy");
  EXPECT_EQ(count_at(world.heard(conn, h).refusal->detail, {"waited_ms"}), 500U);
  EXPECT_EQ(count_at(world.heard(conn, h).refusal->detail, {"size"}), 1U);
  EXPECT_EQ(world.heard(conn, p).refused, 0);
}

TEST(Broker, TenThousandPoliteCallsShareOneCap) {
  BrokerConfig config = small_config();
  config.pool_size = 16;
  World world(config);
  const ConnId conn = world.connect();
  CallSpec spec = World::spec();
  spec.budget.max_outstanding = 2;
  (void)world.call(conn, spec);
  (void)world.call(conn, spec);
  spec.budget.max_outstanding = 10'000;
  const auto third = world.call(conn, spec);
  EXPECT_EQ(reason(world.heard(conn, third)), "budget_exhausted");
  EXPECT_EQ(count_at(world.heard(conn, third).refusal->detail, {"max"}), 2U);
}

TEST(Broker, TheBudgetsDeadlineStopsWhatRunsAndRefusesWhatWaits) {
  BrokerConfig config = small_config();
  config.pool_size = 1;
  World world(config);
  world.obey_cancel = false;
  const ConnId conn = world.connect();
  CallSpec spec = World::spec();
  spec.budget.deadline_ms = 1000;
  const auto runs = world.call(conn, spec);
  const auto waits = world.call(conn, spec);
  world.pass(milliseconds(1000));
  EXPECT_EQ(reason(world.heard(conn, waits)), "deadline_passed");
  const auto [helper, start] = world.running().at(0);
  EXPECT_TRUE(world.helpers[helper].running[start].cancelled);
  world.exit(helper, start, 143, true);
  EXPECT_EQ(world.heard(conn, runs).settlement->stopped_by, "budget");
}

TEST(Broker, TheCallsOwnDeadlineIsCountedFromItsStart) {
  World world;
  world.answer_spawn = false;
  const ConnId conn = world.connect();
  CallSpec spec = World::spec();
  spec.deadline_ms = 1000;
  const auto id = world.call(conn, spec);
  world.pass(milliseconds(3000));
  world.hello(1);
  world.pass(milliseconds(999));
  EXPECT_EQ(world.heard(conn, id).settled, 0);
  world.pass(milliseconds(1));
  EXPECT_EQ(world.heard(conn, id).settlement->stopped_by, "deadline");
}

TEST(Broker, AnAbortReachesItsScopeAndNothingElse) {
  BrokerConfig config = small_config();
  config.pool_size = 2;
  World world(config);
  const ConnId conn = world.connect();
  const auto hit = world.call(conn, World::spec("op", "1"));
  const auto sibling = world.call(conn, World::spec("op", "2"));
  const auto hit_waiting = world.call(conn, World::spec("op", "1"));
  const auto sibling_waiting = world.call(conn, World::spec("op", "2"));
  const auto asked = world.ask(conn, AbortStep{"op", "1"});
  EXPECT_EQ(count_at(world.fields(asked), {"cancelled"}), 1U);
  EXPECT_EQ(count_at(world.fields(asked), {"waiting"}), 1U);
  EXPECT_EQ(world.heard(conn, hit).settlement->stopped_by, "abort");
  EXPECT_EQ(reason(world.heard(conn, hit_waiting)), "operation_aborted");
  EXPECT_EQ(world.heard(conn, sibling).settled, 0);
  EXPECT_EQ(world.heard(conn, sibling_waiting).started, 1) << "the freed slot is lent on";
  const auto anew = world.call(conn, World::spec("op", "1"));
  EXPECT_EQ(world.heard(conn, anew).refused, 0) << "the operation is not over";
  const auto all = world.ask(conn, AbortOp{"op"});
  EXPECT_EQ(count_at(world.fields(all), {"cancelled"}), 2U);
  EXPECT_EQ(count_at(world.fields(all), {"waiting"}), 1U);
}

TEST(Broker, AVanishedCallersCallsLeaveOrAreCancelled) {
  BrokerConfig config = small_config();
  config.pool_size = 1;
  World world(config);
  const ConnId gone = world.connect();
  const ConnId stays = world.connect();
  const auto ran = world.call(gone);
  const auto waited = world.call(gone);
  const auto next = world.call(stays);
  world.vanish(gone);
  EXPECT_EQ(world.heard(gone, ran).settled, 0) << "nobody is left to hear it";
  EXPECT_EQ(world.heard(gone, waited).started, 0);
  EXPECT_EQ(world.heard(stays, next).started, 1);
  EXPECT_NE(render_json(world.snapshot()).find("caller_gone"), std::string::npos);
}

TEST(Broker, ADeadHelpersCallsAreLostAndItsSlotsComeBackWithTheProof) {
  World world;
  const ConnId conn = world.connect();
  const auto a = world.call(conn);
  const auto b = world.call(conn);
  const HelperId helper = world.running().at(0).first;
  world.die(helper, true, 9, {501});
  for (const auto id : {a, b}) {
    EXPECT_EQ(failure(world.heard(conn, id)), "execution_lost");
    EXPECT_EQ(cause(world.heard(conn, id)), "helper_down");
  }
  EXPECT_EQ(world.killed_orphans, std::vector<Pid>{501});
  const auto waits = world.call(conn);
  EXPECT_EQ(world.heard(conn, waits).started, 0) << "four slots, all held by a helper whose end is not proved";
  world.post(OrphanReaped{501});
  EXPECT_EQ(world.heard(conn, waits).started, 1);
}

TEST(Broker, WhenEverySlotIsUnconfirmedThePoolIsUnavailableAtOnce) {
  World world;
  const ConnId conn = world.connect();
  (void)world.call(conn);
  const HelperId helper = world.running().at(0).first;
  const auto sees = world.call(conn, World::spec("other"));
  (void)sees;
  world.die(helper, true, 9, {501});
  const auto waits = world.call(conn);
  world.pass(seconds(2));
  EXPECT_EQ(reason(world.heard(conn, waits)), "pool_unavailable");
  const auto late = world.call(conn);
  EXPECT_EQ(reason(world.heard(conn, late)), "pool_unavailable");
  const Value shown = world.snapshot();
  EXPECT_EQ(count_at(shown, {"pool", "unconfirmed"}), 4U);
  EXPECT_NE(render_json(shown).find("not reaped"), std::string::npos) << "and the snapshot says why";
}

TEST(Broker, AnIgnoredCancelIsEscalatedAndTheSiblingIsLost) {
  World world;
  world.obey_cancel = false;
  const ConnId conn = world.connect();
  const auto stubborn = world.call(conn);
  const auto sibling = world.call(conn);
  world.ask(conn, CallCancel{stubborn, std::nullopt});
  world.pass(milliseconds(2999));
  EXPECT_EQ(world.heard(conn, stubborn).settled, 0);
  world.pass(milliseconds(1));
  EXPECT_EQ(failure(world.heard(conn, stubborn)), "cancel_escalated");
  EXPECT_EQ(world.heard(conn, stubborn).settlement->stopped_by, "cancel");
  EXPECT_EQ(failure(world.heard(conn, sibling)), "execution_lost");
}

TEST(Broker, AnUnwitnessedKillIsALossAfterFiveSecondsInAll) {
  World world;
  world.obey_cancel = false;
  world.obey_kill = false;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  world.ask(conn, CallCancel{id, std::nullopt});
  world.pass(milliseconds(4999));
  EXPECT_EQ(world.heard(conn, id).settled, 0);
  world.pass(milliseconds(1));
  EXPECT_EQ(failure(world.heard(conn, id)), "execution_lost");
  EXPECT_EQ(cause(world.heard(conn, id)), "relay_down");
}

TEST(Broker, AFailedStartIsTheHeadsVerdictAndTheNextTriesAgain) {
  World world;
  world.spawn_error = Error{"spawn_failed", "", "/no/loom-exec: no such file", ""};
  const ConnId conn = world.connect();
  const auto a = world.call(conn);
  EXPECT_EQ(reason(world.heard(conn, a)), "spawn_failed");
  world.spawn_error.reset();
  const auto b = world.call(conn);
  EXPECT_EQ(world.heard(conn, b).started, 1);
}

TEST(Broker, AnotherProtocolIsASpawnFailureThatNamesBothNumbers) {
  World world;
  world.answer_spawn = false;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  world.hello(1, 4, 3);
  EXPECT_EQ(reason(world.heard(conn, id)), "spawn_failed");
  EXPECT_EQ(count_at(world.heard(conn, id).refusal->detail, {"helper"}), 3U);
  EXPECT_EQ(count_at(world.heard(conn, id).refusal->detail, {"broker"}), 4U);
}

TEST(Broker, ASilentHelperCostsItsWaiterTheHandshakeAndNoMore) {
  World world;
  world.answer_spawn = false;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  world.pass(seconds(5));
  EXPECT_EQ(reason(world.heard(conn, id)), "spawn_failed");
}

TEST(Broker, AHelperThatLacksALayerIsRefusedByTheLayersName) {
  BrokerConfig config = small_config();
  config.demand = Demand::kBestEffort;
  World world(config);
  world.layers.erase(std::remove(world.layers.begin(), world.layers.end(), "landlock"), world.layers.end());
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  EXPECT_EQ(reason(world.heard(conn, id)), "degraded_helper");
  EXPECT_EQ(*world.heard(conn, id).refusal->detail.find("missing"), Value(Array{Value("landlock")}));
  CallSpec content = World::spec();
  content.demand = "best_effort";
  const auto served = world.call(conn, content);
  EXPECT_EQ(world.heard(conn, served).started, 1);
  EXPECT_EQ(count_at(world.snapshot(), {"pool", "lent"}), 1U) << "the refused one's lease went back";
}

TEST(Broker, ALieAboutEnforcementIsFoundAtTheEnd) {
  World world;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  const auto [helper, start] = world.running().at(0);
  world.layers.clear();
  world.exit(helper, start);
  EXPECT_EQ(failure(world.heard(conn, id)), "enforcement_short");
}

TEST(Broker, ANarrowedRequirementIsRefusedWithTheGrantsThatWouldSatisfyIt) {
  World world;
  const ConnId conn = world.connect();
  Policy wants = test::small_policy();
  wants.writable_roots = {"/other"};
  CallSpec spec = World::spec();
  spec.requirements = encode_policy(wants);
  const auto refused = world.call(conn, spec);
  EXPECT_EQ(reason(world.heard(conn, refused)), "policy_refused");
  EXPECT_FALSE(world.heard(conn, refused).refusal->wanted.empty());
  spec.narrowed = "proceed";
  const auto proceeds = world.call(conn, spec);
  EXPECT_EQ(world.heard(conn, proceeds).started, 1);
}

TEST(Broker, GrantsAreRefusedUnlessTheBrokerAllowsThem) {
  CallSpec spec = World::spec();
  spec.grants = {encode_grant(Grant{"env", "", Value("EXTRA")})};
  World strict;
  const ConnId a = strict.connect();
  const auto refused = strict.call(a, spec);
  EXPECT_EQ(reason(strict.heard(a, refused)), "bad_request");
  BrokerConfig config = small_config();
  config.allow_grants = true;
  World open(config);
  const ConnId b = open.connect();
  const auto served = open.call(b, spec);
  EXPECT_EQ(open.heard(b, served).started, 1);
}

TEST(Broker, ABadRequirementIsItsOwnRefusalWithThePlace) {
  World world;
  const ConnId conn = world.connect();
  CallSpec spec = World::spec();
  spec.requirements = Map{{"v", 3}};
  const auto id = world.call(conn, spec);
  EXPECT_EQ(reason(world.heard(conn, id)), "policy_invalid");
  ASSERT_NE(world.heard(conn, id).refusal->detail.find("error"), nullptr);
}

TEST(Broker, AProxyThatIsAskedForAndNotThereIsSaid) {
  BrokerConfig config = small_config();
  config.allow_grants = true;
  config.can_proxy = true;
  World world(config);
  const ConnId conn = world.connect();
  CallSpec spec = World::spec();
  spec.grants = {encode_grant(*parse_grant("network=proxy:example.org"))};
  const auto id = world.call(conn, spec);
  EXPECT_EQ(reason(world.heard(conn, id)), "egress_unavailable");
  EXPECT_EQ(count_at(world.snapshot(), {"books", "reserved"}), 0U);
  EXPECT_EQ(count_at(world.snapshot(), {"books", "tokens"}), 0U);
}

TEST(Broker, ACloseRefusesCancelsAndRetiresThenSaysClean) {
  BrokerConfig config = small_config();
  config.pool_size = 1;
  World world(config);
  const ConnId conn = world.connect();
  const auto runs = world.call(conn);
  const auto waits = world.call(conn);
  const auto stop = world.ask(conn, Stop{});
  EXPECT_EQ(world.heard(conn, runs).settlement->stopped_by, "closing");
  EXPECT_EQ(reason(world.heard(conn, waits)), "shutting_down");
  ASSERT_EQ(world.verdicts.size(), 1U);
  EXPECT_TRUE(world.verdicts[0].clean);
  EXPECT_EQ(*world.fields(stop).find("clean"), Value(true));
  const auto late = world.call(conn);
  EXPECT_EQ(reason(world.heard(conn, late)), "shutting_down");
}

TEST(Broker, AStubbornHelperDelaysACloseByItsBoundAndNoMore) {
  World world;
  world.obey_cancel = world.obey_kill = world.obey_shutdown = false;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  const TimePoint began = world.now;
  world.post(CloseRequested{});
  world.pass(milliseconds(3000));
  EXPECT_EQ(world.heard(conn, id).settled, 1);
  EXPECT_EQ(world.heard(conn, id).settlement->stopped_by, "closing");
  world.pass(milliseconds(5000));
  ASSERT_EQ(world.verdicts.size(), 1U);
  EXPECT_FALSE(world.verdicts[0].clean);
  EXPECT_EQ(world.verdicts[0].unconfirmed, 4U);
  EXPECT_LE(world.now - began, milliseconds(9000));
  world.post(CloseRequested{});
  ASSERT_EQ(world.verdicts.size(), 2U) << "a second close answers the stored verdict";
  EXPECT_EQ(world.verdicts[1].unconfirmed, 4U);
}

TEST(Broker, ACloseDuringOutputGivesTheCommandsRealEnd) {
  World world;
  world.obey_cancel = false;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  const auto [helper, start] = world.running().at(0);
  world.output(helper, start, "partial");
  world.post(CloseRequested{});
  world.exit(helper, start, 3, true);
  ASSERT_TRUE(world.heard(conn, id).settlement && world.heard(conn, id).settlement->exited);
  EXPECT_EQ(world.heard(conn, id).settlement->exited->code, 3);
  EXPECT_EQ(world.verdicts.size(), 1U);
}

TEST(Broker, AnIdlePoolShrinksToNothingAndGrowsAgain) {
  World world;
  const ConnId conn = world.connect();
  (void)world.call(conn);
  const auto [helper, start] = world.running().at(0);
  world.exit(helper, start);
  world.pass(seconds(60));
  EXPECT_TRUE(world.helpers[helper].shutdown);
  EXPECT_EQ(count_at(world.snapshot(), {"pool", "retired"}), 1U);
  const auto again = world.call(conn);
  EXPECT_EQ(world.heard(conn, again).started, 1);
}

TEST(Broker, SpareHelpersAreStartedAtBootOneAfterTheOther) {
  BrokerConfig config = small_config();
  config.pool_size = 8;
  config.spare_helpers = 2;
  World world(config);
  EXPECT_EQ(world.helpers.size(), 2U);
}

TEST(Broker, AConnectionMustSayHelloInTime) {
  World world;
  const ConnId conn = world.connect(false);
  ASSERT_FALSE(world.replies.empty());
  EXPECT_EQ(std::get<Hello>(world.replies.back().message).proto, kControlProto);
  world.pass(seconds(5));
  EXPECT_TRUE(world.closed.contains(conn));
}

TEST(Broker, FramesOfAClientAreJudgedAtTheDoor) {
  World world;
  const auto frame = [&](ConnId conn, std::uint64_t id, std::string kind, Value body) {
    world.post(ClientFrame{conn, Frame{id, std::move(kind), std::move(body)}, world.fresh_entropy()});
  };
  const auto code = [&] { return std::get<ErrorMessage>(world.replies.back().message).code; };
  const ConnId early = world.connect(false);
  frame(early, 1, "snapshot", Map{});
  EXPECT_EQ(code(), "protocol_violation");
  EXPECT_TRUE(world.closed.contains(early));

  const ConnId other = world.connect(false);
  frame(other, 1, "hello", encode(Hello{99, "future", {}}));
  EXPECT_EQ(code(), "proto_mismatch");
  EXPECT_TRUE(world.closed.contains(other));

  const ConnId good = world.connect(false);
  frame(good, 1, "hello", encode(Hello{kControlProto, "test", {}}));
  frame(good, 2, "teleport", Map{});
  EXPECT_EQ(code(), "unknown_kind");
  frame(good, 3, "abort_op", Map{{"op_id", 5}});
  EXPECT_EQ(code(), "bad_request");
  world.calls[{good, 4}];
  frame(good, 4, "clear_call", Map{{"argv", 5}});
  EXPECT_EQ(reason(world.heard(good, 4)), "bad_request");
  frame(good, 5, "heartbeat", Map{});
  EXPECT_TRUE(std::holds_alternative<HeartbeatEcho>(world.replies.back().message));
  EXPECT_FALSE(world.closed.contains(good)) << "the channel stays";
  world.calls[{good, 6}];
  frame(good, 6, "clear_call", encode(World::spec()));
  EXPECT_EQ(world.heard(good, 6).started, 1);
  frame(good, 3, "clear_call", encode(World::spec()));
  EXPECT_EQ(code(), "malformed_frame");
  EXPECT_EQ(world.replies.back().id, 0U);
  EXPECT_TRUE(world.closed.contains(good));
}

TEST(Broker, APeerThatIsNotServedIsToldSo) {
  World world;
  world.post(ClientConnected{77, false, false});
  EXPECT_EQ(std::get<ErrorMessage>(world.replies.back().message).code, "not_authorised");
  EXPECT_TRUE(world.closed.contains(77));
}

TEST(Broker, StdinForAnEndedCallIsNoCallAndLateCreditIsIgnored) {
  World world;
  const ConnId conn = world.connect();
  const auto id = world.call(conn);
  const auto [helper, start] = world.running().at(0);
  world.exit(helper, start);
  const auto in = world.ask(conn, CallStdin{id, "late", false});
  EXPECT_EQ(std::get<ErrorMessage>(*world.answer(in)).code, "no_call");
  const auto credit = world.ask(conn, CallCredit{id, Stream::kStdout, 1ULL << 40U});
  EXPECT_EQ(world.answer(credit), nullptr);
}

TEST(Broker, NothingOfARequestIsInASnapshotALineOrAnErrorThatLeaves) {
  BrokerConfig config = small_config();
  config.base.env_allow = {"MARKER-ENV"};
  World world(config);
  const ConnId conn = world.connect();
  CallSpec spec = World::spec("MARKER-OP");
  spec.argv = {"MARKER-ARGV"};
  spec.env = {{"MARKER-ENV", "MARKER-VALUE"}};
  spec.cwd = "/ws/MARKER-CWD";
  spec.caller = "MARKER-CALLER";
  const auto id = world.call(conn, spec);
  std::string seen = render_json(world.snapshot());
  const auto [helper, start] = world.running().at(0);
  world.output(helper, start, "MARKER-OUTPUT");
  world.refuse(helper, start, "jail_lost", "MARKER-MESSAGE");
  EXPECT_EQ(world.heard(conn, id).settled, 1);
  const auto second = world.call(conn, spec);
  world.refuse(helper, world.running().at(0).second, "bad_cwd", "MARKER-MESSAGE");
  EXPECT_EQ(failure(world.heard(conn, second)), "helper_refused");
  spec.requirements = Map{{"MARKER-KEY", "MARKER-POLICY"}};
  (void)world.call(conn, spec);
  seen += render_json(world.snapshot());
  for (const LogLine& line : world.log) seen += render_logfmt(line) + render_log_json(line);
  EXPECT_EQ(seen.find("MARKER"), std::string::npos) << seen;
}

TEST(Broker, TheCensusKnowsTheHelperOnceItSaidHello) {
  World world;
  const ConnId conn = world.connect();
  const Value before = world.fields(world.ask(conn, CensusRequest{}));
  (void)world.call(conn);
  const Value after = world.fields(world.ask(conn, CensusRequest{}));
  EXPECT_EQ(render_json(before).find("loom-exec/test"), std::string::npos);
  EXPECT_NE(render_json(after).find("loom-exec/test"), std::string::npos);
}

TEST(Broker, TwentyCallsOneAfterTheOtherOnOneSlotAllStartAtOnce) {
  BrokerConfig config = small_config();
  config.pool_size = 1;
  World world(config);
  const ConnId conn = world.connect();
  for (int i = 0; i < 20; ++i) {
    const auto id = world.call(conn);
    ASSERT_EQ(world.heard(conn, id).started, 1);
    const auto [helper, start] = world.running().at(0);
    world.exit(helper, start);
    ASSERT_EQ(world.heard(conn, id).settled, 1);
  }
  EXPECT_EQ(world.helpers.size(), 1U);
}

}  // namespace
}  // namespace loom::broker
