// Random interleavings of clients, faults and closes against a real broker whose helpers are played. A plan is drawn
// and can be drawn again; the schedule is the machine's. So plans run side by side, and a candidate of a shrinking runs
// twice and counts as failing when either run does. Shrinking stops 15 s after the first failure, with the plan so far.
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <ostream>

#include "test/support/door.h"
#include "test/support/property.h"
#include "wire/abort_step.h"

namespace loom::test {

enum class Act {
  kQuick,
  kSleeping,
  kDeaf,  // ignores its cancel
  kFlooding,
  kFailing,
  kFaulty,  // crashes its helper, or breaks its protocol
  kCancel,
  kAbortStep,
  kCallerDies,
  kHelperCrash,
  kPause,
  kClose,
};
constexpr int kActs = static_cast<int>(Act::kClose) + 1;
constexpr std::array<const char*, kActs> kNames = {"quick",       "sleeping",     "deaf",   "flooding",
                                                   "failing",     "faulty",       "cancel", "abort-step",
                                                   "caller-dies", "helper-crash", "pause",  "close"};

struct Move {
  Act act = Act::kQuick;
  unsigned pick = 0;
};
struct Plan {
  unsigned slots = 3;
  std::vector<Move> moves;
};

void showValue(const Move& move, std::ostream& out) {
  out << kNames[static_cast<std::size_t>(move.act)] << ":" << move.pick;
}
void showValue(const Plan& plan, std::ostream& out) {
  out << "{slots " << plan.slots << ":";
  for (const Move& move : plan.moves) {
    out << " ";
    showValue(move, out);
  }
  out << "}";
}

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> acts_of(const Move& move) {
  static const std::array<std::vector<std::string>, 6> kFaults = {{{"out:x", "crash"},
                                                                   {"raw:0000000181"},
                                                                   {"badsum", "wait"},
                                                                   {"exit:0", "exit:0"},
                                                                   {"kind:clear_call"},
                                                                   {"leave:3"}}};
  switch (move.act) {
    case Act::kSleeping:
      return {"out:x", "wait", "exit:143"};
    case Act::kDeaf:
      return {"hang"};
    case Act::kFlooding:
      return {"flood", "exit:143"};
    case Act::kFailing:
      return {"refuse:layer_refused"};
    case Act::kFaulty:
      return kFaults[move.pick % kFaults.size()];
    case Act::kQuick:
    case Act::kCancel:
    case Act::kAbortStep:
    case Act::kCallerDies:
    case Act::kHelperCrash:
    case Act::kPause:
    case Act::kClose:
      break;
  }
  return {"out:x", "exit:" + std::to_string(move.pick % 100)};
}

// One performance of a plan, and what went against the rules.
class Performance {
 public:
  explicit Performance(const Plan& plan)
      : plan_(plan), door_(acting("", {"--pool-size", std::to_string(plan.slots), "--per-helper", "2"})) {
    for (int i = 0; i < 3; ++i) clients_.push_back(std::make_unique<DoorClient>(door_.broker.socket()));
  }

  std::vector<std::string> run() {
    for (const Move& move : plan_.moves) {
      perform(move);
      for (const auto& client : clients_) {
        while (client->turn(0)) {
        }
      }
    }
    finish();
    return wrongs_;
  }

 private:
  struct Begun {
    std::size_t client = 0;
    std::uint64_t call = 0;
    bool late = false;  // begun when a close had been asked for: the broker may have left before it came
  };
  void wrong(const std::string& what) { wrongs_.push_back(what); }

  void begin(const Move& move) {
    const std::size_t at = move.pick % clients_.size();
    CallSpec spec = DoorClient::spec(acts_of(move));
    spec.step_id = std::to_string(move.pick % 3);
    begun_.push_back({at, clients_[at]->call(spec), !closing_.empty()});
  }

  void perform(const Move& move) {
    switch (move.act) {
      case Act::kDeaf:
      case Act::kFaulty:
      case Act::kQuick:
      case Act::kSleeping:
      case Act::kFlooding:
      case Act::kFailing:
        quiet_ = quiet_ && move.act != Act::kDeaf && move.act != Act::kFaulty;
        return begin(move);
      case Act::kCancel:
        if (begun_.empty()) return;
        return cancel(begun_[move.pick % begun_.size()]);
      case Act::kAbortStep:
        (void)clients_[0]->send("abort_step", encode(AbortStep{"op", std::to_string(move.pick % 3)}));
        return;
      case Act::kCallerDies:
        return replace(move.pick % clients_.size());
      case Act::kHelperCrash: {
        quiet_ = false;
        const auto helpers = door_.broker.children();
        if (!helpers.empty()) ::kill(helpers[move.pick % helpers.size()], SIGKILL);
        return;
      }
      case Act::kPause:
        (void)clients_[move.pick % clients_.size()]->turn(5 + static_cast<int>(move.pick % 20));
        return;
      case Act::kClose:
        if (closing_.empty()) ask_to_close(move.pick);
        return;
    }
  }

  void cancel(const Begun& which) {
    if (which.call == 0) return;
    (void)clients_[which.client]->send("call_cancel", encode(CallCancel{which.call, {}}));
  }

  // Its calls have nobody left to be told.
  void replace(std::size_t at) {
    if (!closing_.empty()) return;
    wrongs_.insert(wrongs_.end(), clients_[at]->wrongs().begin(), clients_[at]->wrongs().end());
    clients_[at] = std::make_unique<DoorClient>(door_.broker.socket());
    for (Begun& begun : begun_) {
      if (begun.client == at) begun.call = 0;
    }
  }

  void ask_to_close(unsigned pick) {
    Stop stop;
    if (pick % 3 == 0) stop.drain_ms = 100;
    for (int i = 0; i < 2; ++i) closers_.push_back(std::make_unique<DoorClient>(door_.broker.socket()));
    // Two in one write are read together; the third may come when the broker has already left.
    closing_ = closers_[0]->send_twice("stop", encode(stop));
    closing_.push_back(closers_[1]->send("stop", encode(stop)));
  }

  void finish() {
    if (closing_.empty()) {
      for (const Begun& begun : begun_) cancel(begun);
    }
    hear_all();
    if (closing_.empty()) {
      if (const std::string books = wrong_books(door_); !books.empty()) wrong(books);
      ask_to_close(1);
    }
    const Value first = closers_[0]->answer(closing_[0]);
    const Value third = closers_[1]->answer(closing_[2]);
    if (first.is_nil() || first != closers_[0]->answer(closing_[1])) wrong("a second close answers another verdict");
    if (third.is_nil() ? !closers_[1]->left() : third != first) wrong("a third close answers another verdict");
    if (quiet_ && count_in(first, {"unconfirmed"}) != 0) wrong("a quiet plan did not close clean");
    const int status = door_.broker.wait();
    if (status != (count_in(first, {"unconfirmed"}) == 0 ? 0 : 1)) wrong("left with " + std::to_string(status));
    for (const auto& client : clients_) {
      while (client->turn(100)) {
      }
      wrongs_.insert(wrongs_.end(), client->wrongs().begin(), client->wrongs().end());
    }
    if (!wrongs_.empty()) wrongs_.push_back(door_.broker.log());
  }

  // Every living caller hears one verdict on each of its calls.
  void hear_all() {
    for (const Begun& begun : begun_) {
      if (begun.call == 0) continue;
      const HeardCall& heard = clients_[begun.client]->settle(begun.call);
      if (heard.over() || (begun.late && clients_[begun.client]->left())) continue;
      wrong("call " + std::to_string(begun.call) + " of client " + std::to_string(begun.client) + " heard no verdict");
    }
  }

  const Plan& plan_;
  Door door_;
  std::vector<std::unique_ptr<DoorClient>> clients_;
  std::vector<std::unique_ptr<DoorClient>> closers_;
  std::vector<std::uint64_t> closing_;
  std::vector<Begun> begun_;
  std::vector<std::string> wrongs_;
  bool quiet_ = true;
};

rc::Gen<Move> any_move(bool quiet) {
  return rc::gen::exec([quiet] {
    // Calls are drawn as often as all else; what ends the plan, and what waits for a grace of seconds, rarely.
    Act act = static_cast<Act>(*rc::gen::inRange(0, 2 * kActs) % kActs);
    if (act == Act::kClose && *rc::gen::inRange(0, 3) != 0) act = Act::kQuick;
    if (act == Act::kDeaf && *rc::gen::inRange(0, 3) != 0) act = Act::kSleeping;
    const bool loud = act == Act::kDeaf || act == Act::kFaulty || act == Act::kHelperCrash;
    return Move{quiet && loud ? Act::kQuick : act, *rc::gen::inRange(0U, 12U)};
  });
}

rc::Gen<Plan> any_plan(bool quiet) {
  return rc::gen::exec([quiet] {
    const unsigned slots = *rc::gen::inRange(1U, 6U);
    // As long as the size wants, and not too short to be about anything.
    auto moves = *rc::gen::resize(24, rc::gen::container<std::vector<Move>>(rc::gen::resize(100, any_move(quiet))));
    return Plan{slots, std::move(moves)};
  });
}

class Stage {
 public:
  // What is wrong with any of these plans; they run side by side.
  std::string perform(const std::vector<Plan>& plans) {
    if (failed_ && Clock::now() > *failed_ + std::chrono::seconds(15)) return "";
    const int times = failed_ ? 2 : 1;
    std::string wrongs;
    for (int time = 0; time < times && wrongs.empty(); ++time) {
      std::mutex lock;
      side_by_side(plans.size(), [&](std::size_t i) {
        const auto found = Performance(plans[i]).run();
        const std::lock_guard<std::mutex> held(lock);
        for (const std::string& wrong : found) wrongs += "plan " + std::to_string(i) + ": " + wrong + "\n";
      });
    }
    if (!wrongs.empty() && !failed_) failed_ = Clock::now();
    return wrongs;
  }

 private:
  std::optional<Clock::time_point> failed_;
};

// Batches of plans, `count` of them: their number is given, and so is the time.
void hold(const char* sentence, std::size_t batches, std::size_t plans, bool quiet, std::array<int, kActs>* drawn) {
  seed_once();
  Stage stage;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = static_cast<int>(batches);
  rc::detail::TestMetadata metadata;
  metadata.id = sentence;
  metadata.description = sentence;
  std::string last_wrongs;
  const auto result = rc::detail::checkTestable(
      [&] {
        const auto set = *rc::gen::container<std::vector<Plan>>(plans, rc::gen::resize(100, any_plan(quiet)));
        for (const Plan& plan : set) {
          for (const Move& move : plan.moves) ++(*drawn)[static_cast<std::size_t>(move.act)];
        }
        const std::string wrongs = stage.perform(set);
        if (!wrongs.empty()) last_wrongs = wrongs;
        RC_ASSERT(wrongs.empty());
      },
      metadata, params);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << sentence;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  std::fprintf(stderr, "%s\n%s", text.str().c_str(), last_wrongs.c_str());
}

TEST(Interleavings, EveryLivingCallerHearsOneSettlementAndTheBooksDrain) {
  std::array<int, kActs> drawn{};
  hold("whatever is interleaved, one verdict a caller, nothing after it, and empty books", 5, 16, false, &drawn);
  for (std::size_t act = 0; act < drawn.size(); ++act) EXPECT_GT(drawn[act], 0) << kNames[act] << " was never drawn";
}

TEST(Interleavings, AQuietPlanClosesClean) {
  std::array<int, kActs> drawn{};
  hold("without faults of helpers every close is clean", 10, 12, true, &drawn);
}

}  // namespace
}  // namespace loom::test
