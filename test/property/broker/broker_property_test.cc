// Random days of a whole broker, helpers and clients played.
#include <array>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/property/broker/runs.h"
#include "test/support/broker_world.h"
#include "test/support/property.h"

namespace loom::broker {

enum class Act {
  kCall,
  kExit,
  kOutput,
  kRefuse,
  kCancel,
  kAbortStep,
  kAbortOp,
  kVanish,
  kCrash,
  kCrashLeaving,
  kReap,
  kLie,
  kEof,
  kTime,
  kMood,
  kConnect,
  kSpawnFails,
  kClose,
};
constexpr int kActs = static_cast<int>(Act::kClose) + 1;

struct Command {
  Act act = Act::kCall;
  unsigned a = 0;
  unsigned b = 0;
};

void showValue(const Command& command, std::ostream& out) {
  out << "{" << static_cast<int>(command.act) << "," << command.a << "," << command.b << "}";
}

namespace {

using test::count_at;
using test::Heard;
using test::World;

rc::Gen<Command> any_command() {
  return rc::gen::exec([] {
    // Calls are drawn as often as all else, and a close rarely.
    const int drawn = *rc::gen::inRange(0, kActs * 2);
    Act act = drawn < kActs ? static_cast<Act>(drawn) : Act::kCall;
    if (act == Act::kClose && *rc::gen::inRange(0, 3) != 0) act = Act::kExit;
    return Command{act, *rc::gen::inRange(0U, 16U), *rc::gen::inRange(0U, 16U)};
  });
}

struct Day {
  World world;
  std::uint32_t size;
  std::vector<ConnId> clients;
  std::vector<std::pair<ConnId, std::uint64_t>> order;  // calls as they arrived
  std::set<std::pair<ConnId, std::uint64_t>> left_unheard;
  std::map<Pid, HelperId> orphans;
  Pid next_orphan = 5000;
  int checks = 0;
  std::map<std::pair<ConnId, std::uint64_t>, TimePoint> leaves_at;

  explicit Day(const BrokerConfig& config) : world(config), size(config.pool_size) {
    clients.push_back(world.connect());
  }

  void do_call(const Command& c) {
    if (clients.empty()) return;
    const ConnId conn = clients[c.a % clients.size()];
    CallSpec spec = World::spec(c.b % 2 == 0 ? "a" : "b", c.b % 3 == 0 ? "1" : "2");
    spec.waiting_ms = (c.b % 4) * 1500;
    spec.deadline_ms = c.a % 5 == 0 ? 700 : 0;
    spec.budget.max_outstanding = 1 + c.b % 5;
    spec.budget.deadline_ms = c.b % 7 == 0 ? 2500 : 0;
    if (c.a == 15) spec.argv.clear();
    const TimePoint leaves = world.now + milliseconds(static_cast<std::int64_t>(spec.waiting_ms));
    order.emplace_back(conn, world.call(conn, spec));
    leaves_at[order.back()] = leaves;
  }
  void do_running(const Command& c) {
    const auto running = world.running();
    if (running.empty()) return;
    const auto& [helper, start] = running[c.a % running.size()];
    if (c.act == Act::kExit) world.exit(helper, start, static_cast<std::int64_t>(c.b));
    if (c.act == Act::kOutput) world.output(helper, start, std::string(c.b, 'o'));
    if (c.act == Act::kRefuse) world.refuse(helper, start, c.b % 2 == 0 ? "jail_lost" : "layer_refused", "m");
    if (c.act == Act::kLie) world.frame(helper, start, c.b % 2 == 0 ? "exec_start" : "exec_out", Map{});
    if (c.act == Act::kEof) world.post(HelperEof{helper});
  }
  void do_crash(const Command& c) {
    std::vector<HelperId> alive;
    for (const auto& [id, helper] : world.helpers) {
      if (!helper.gone) alive.push_back(id);
    }
    if (alive.empty()) return;
    const HelperId id = alive[c.a % alive.size()];
    std::vector<Pid> left;
    if (c.act == Act::kCrashLeaving) left.push_back(next_orphan++);
    for (const Pid pid : left) orphans[pid] = id;
    world.die(id, true, 11, left);
  }
  void do_reap() {
    if (orphans.empty()) return;
    const Pid pid = orphans.begin()->first;
    orphans.erase(orphans.begin());
    world.post(OrphanReaped{pid});
  }
  void do_cancel(const Command& c) {
    if (clients.empty() || order.empty()) return;
    const auto& [conn, id] = order[c.a % order.size()];
    world.ask(conn, CallCancel{id, std::nullopt});
  }
  void do_vanish(const Command& c) {
    if (clients.size() < 2) return;
    const std::size_t at = c.a % clients.size();
    world.vanish(clients[at]);
    clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void do_mood(const Command& c) {
    world.obey_cancel = c.a % 4 != 0;
    world.obey_kill = c.a % 3 != 0;
    world.obey_shutdown = c.b % 3 != 0;
    world.answer_spawn = c.b % 4 != 0;
  }

  void act(const Command& c) {
    switch (c.act) {
      case Act::kCall:
        return do_call(c);
      case Act::kExit:
      case Act::kOutput:
      case Act::kRefuse:
      case Act::kLie:
      case Act::kEof:
        return do_running(c);
      case Act::kCancel:
        return do_cancel(c);
      case Act::kAbortStep:
        if (!clients.empty()) world.ask(clients[0], AbortStep{c.a % 2 == 0 ? "a" : "b", c.b % 2 == 0 ? "1" : "2"});
        return;
      case Act::kAbortOp:
        if (!clients.empty()) world.ask(clients[0], AbortOp{c.a % 2 == 0 ? "a" : "b"});
        return;
      case Act::kVanish:
        return do_vanish(c);
      case Act::kCrash:
      case Act::kCrashLeaving:
        return do_crash(c);
      case Act::kReap:
        return do_reap();
      case Act::kTime:
        return world.pass(milliseconds(100 * (c.a + 1) * (c.b % 4 == 0 ? 10 : 1)));
      case Act::kMood:
        return do_mood(c);
      case Act::kConnect:
        clients.push_back(world.connect());
        return;
      case Act::kSpawnFails:
        world.spawn_error = c.a % 2 == 0 ? std::optional(Error{"spawn_failed", "", "no", ""}) : std::nullopt;
        return;
      case Act::kClose:
        return world.post(CloseRequested{});
    }
  }

  [[nodiscard]] bool unproved(HelperId id) const {
    const auto at = world.helpers.find(id);
    if (at == world.helpers.end()) return false;
    if (!at->second.gone) return true;
    for (const auto& [pid, owner] : orphans) {
      if (owner == id) return true;
    }
    return false;
  }

  void check() {
    RC_ASSERT(!world.cancelled_twice);
    std::uint64_t last_started = 0;
    bool earlier_waits = false;
    for (const auto& key : order) {
      const Heard& heard = world.calls[key];
      RC_ASSERT(!heard.after_the_end);
      RC_ASSERT(heard.started <= 1);
      RC_ASSERT(heard.refused + heard.settled <= 1);
      RC_ASSERT(heard.settled <= heard.started);
      // The queue is never passed: whoever started did so after all who came before and had not left.
      if (heard.started == 1) {
        RC_ASSERT(heard.seq > last_started);
        RC_ASSERT(!earlier_waits);
        last_started = heard.seq;
      }
      const bool waits = heard.started + heard.refused == 0 && !world.vanished.contains(key.first);
      RC_ASSERT(!waits || world.now < leaves_at[key]);
      earlier_waits = earlier_waits || waits;
    }
    if (++checks % 3 == 0) check_books();
  }

  void check_books() {
    const Value shown = world.snapshot();
    std::uint64_t sum = 0;
    for (const char* part : {"available", "lent", "draining", "retiring", "unconfirmed"}) {
      sum += count_at(shown, {"pool", part});
    }
    RC_ASSERT(sum == size);
    std::set<std::uint64_t> held;
    std::uint64_t slots = 0;
    for (const Value& helper : *shown.find("pool")->find("helpers")->get_if<Array>()) {
      held.insert(count_at(helper, {"ordinal"}));
      slots += count_at(helper, {"slots"});
      RC_ASSERT(count_at(helper, {"lent"}) <= count_at(helper, {"slots"}));
    }
    RC_ASSERT(slots <= size);
    for (const auto& [id, helper] : world.helpers) RC_ASSERT(!unproved(id) || held.contains(id));
    RC_ASSERT(shown.find("live")->get_if<Array>()->size() <= size);
    RC_ASSERT(count_at(shown, {"books", "executions"}) == shown.find("live")->get_if<Array>()->size());
    RC_ASSERT(count_at(shown, {"books", "tokens"}) == shown.find("live")->get_if<Array>()->size());
  }

  void finish() {
    world.post(CloseRequested{});
    world.pass(seconds(9));
    RC_ASSERT(!world.verdicts.empty());
    const Closed verdict = world.verdicts.front();
    for (const auto& key : order) {
      if (world.vanished.contains(key.first)) continue;
      const Heard& heard = world.calls[key];
      RC_ASSERT(heard.refused + heard.settled == 1);
    }
    std::set<std::string> tokens;
    for (const ExecStart& start : world.started) RC_ASSERT(tokens.insert(start.token).second);
    check_books();
    const Value shown = world.snapshot();
    RC_ASSERT(shown.find("live")->get_if<Array>()->empty());
    RC_ASSERT(count_at(shown, {"waiting", "count"}) == 0U);
    RC_ASSERT(count_at(shown, {"books", "reserved"}) == 0U);
    RC_ASSERT(count_at(shown, {"books", "ledgers"}) == 0U);
    RC_ASSERT(count_at(shown, {"books", "tokens"}) == 0U);
    world.post(CloseRequested{});
    RC_ASSERT(world.verdicts.back().clean == verdict.clean);
    RC_ASSERT(world.verdicts.back().unconfirmed == verdict.unconfirmed);
    bool all_proved = true;
    for (const auto& [id, helper] : world.helpers) all_proved = all_proved && !unproved(id);
    RC_ASSERT(!verdict.clean || all_proved);
  }
};

BrokerConfig any_config() {
  BrokerConfig config = test::small_config();
  config.pool_size = *rc::gen::inRange<std::uint32_t>(1, 9);
  config.per_helper = *rc::gen::inRange<std::uint32_t>(1, 5);
  config.spare_helpers = *rc::gen::inRange<std::uint32_t>(0, 2);
  config.heartbeat = *rc::gen::inRange(0, 4) == 0;
  return config;
}

TEST(BrokerProperty, OneCallOneSettlementWhateverHappens) {
  std::array<int, kActs> drawn{};
  loom::test::property("whatever the day, each caller hears one verdict and the books are empty at the end", [&drawn] {
    Day day(any_config());
    for (const Command& command : *rc::gen::container<std::vector<Command>>(any_command())) {
      ++drawn[static_cast<std::size_t>(command.act)];
      day.act(command);
      day.check();
    }
    day.finish();
  });
  for (std::size_t act = 0; act < drawn.size(); ++act) EXPECT_GT(drawn[act], 0) << act;
}

TEST(BrokerProperty, AQuietDayClosesClean) {
  loom::test::property("calls that end by themselves, cancels and aborts leave nothing unconfirmed", [] {
    Day day(any_config());
    for (Command command : *rc::gen::container<std::vector<Command>>(any_command())) {
      const bool quiet = command.act == Act::kCall || command.act == Act::kExit || command.act == Act::kOutput ||
                         command.act == Act::kCancel || command.act == Act::kAbortOp || command.act == Act::kTime ||
                         command.act == Act::kVanish || command.act == Act::kConnect;
      if (!quiet) command.act = Act::kExit;
      day.act(command);
      day.check();
    }
    day.finish();
    RC_ASSERT(day.world.verdicts.front().clean);
  });
}

}  // namespace
}  // namespace loom::broker
