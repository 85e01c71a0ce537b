// Random load with faults through two real brokers at once, one with real helpers and jails and one with helpers that
// are played (and that break every rule): cancels, aborts, callers that die, helpers that are killed. A table at the
// end.
//   soak MINUTES [SEED]       $BIN and $BUILT name the tools and the built peers
// 0: every living caller heard one verdict on every call and nothing after it, the books drained, memory and
// descriptors are flat between the end of the first tenth and the end, no real helper died but those that were killed,
// and both brokers closed clean. 1: one of those does not hold.
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "test/support/door.h"
#include "wire/abort_step.h"

namespace loom::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kClients = 12;
constexpr std::size_t kMostOpen = 3;  // calls of one client
constexpr long kMostGrowthKb = 4096;

struct Level {
  long rss_kb = 0;
  std::size_t descriptors = 0;  // beside those of the helpers that are there
};

struct Open {
  std::uint64_t call = 0;
  Clock::time_point begun;
};

class Load {
 public:
  Load(const char* name, ServeSetup setup, bool played, unsigned seed)
      : name_(name), door_(std::move(setup)), played_(played), random_(seed) {
    for (std::size_t i = 0; i < kClients; ++i)
      clients_.push_back({std::make_unique<DoorClient>(door_.broker.socket()), {}});
  }

  // One turn: calls are begun where there is room, faults are done now and then, what came is read.
  bool turn() {
    bool moved = false;
    for (Caller& caller : clients_) {
      if (caller.open.size() < kMostOpen) {
        begin(caller);
        disturb(caller);
        moved = true;
      }
      moved = hear(caller) || moved;
    }
    return moved;
  }
  void add_to(std::vector<pollfd>& fds) const {
    for (const Caller& caller : clients_) fds.push_back({caller.client->fd(), POLLIN, 0});
  }

  // Everybody hears the end of what is open; then the broker is looked at.
  Level drain() {
    for (Caller& caller : clients_) {
      for (const Open& open : caller.open) (void)caller.client->send("call_cancel", encode(CallCancel{open.call, {}}));
    }
    for (Caller& caller : clients_) {
      while (!caller.open.empty()) {
        const Open open = caller.open.back();
        if (!caller.client->settle(open.call).over()) complain("a call heard no verdict");
        hear(caller);
        if (!caller.open.empty() && !caller.client->of(caller.open.back().call).over()) break;
      }
    }
    const std::string books = wrong_books(door_);
    if (!books.empty()) complain(books);
    // A helper that starts or ends just now has more or less than its three: the least of several looks counts.
    Level level{0, SIZE_MAX};
    for (int i = 0; i < 50; ++i) {
      (void)door_.snapshot();
      const std::size_t helpers = door_.broker.children().size();
      const std::size_t all = door_.broker.descriptors();
      // 0: a broker shows nothing of itself to an ordinary user.
      level.descriptors = std::min(level.descriptors, all == 0 ? 0 : all - 3 * helpers);
    }
    level.rss_kb = door_.broker.rss_kb();
    return level;
  }

  bool report(const Level& start, const Level& end) {
    for (const Caller& caller : clients_) {
      for (const std::string& wrong : caller.client->wrongs()) complain(wrong);
    }
    if (end.rss_kb > start.rss_kb + kMostGrowthKb) complain("memory grew");
    if (end.descriptors != start.descriptors) complain("descriptors grew");
    if (!played_ && deaths() > killed_) complain("a real helper died of itself");
    const Value shown = door_.snapshot();
    if (count_in(shown, {"counters", "starts"}) < started_) complain("the broker counted fewer starts than were heard");
    clients_.clear();
    DoorClient closer(door_.broker.socket());
    if (count_in(closer.ask("stop"), {"unconfirmed"}) != 0) complain("the close was not clean");
    if (door_.broker.wait() != 0) complain("the broker did not leave with 0");
    print(start, end, shown);
    return complaints_.empty();
  }

 private:
  struct Caller {
    std::unique_ptr<DoorClient> client;
    std::vector<Open> open;
  };

  [[nodiscard]] std::size_t deaths() const {
    const std::string log = door_.broker.log();
    std::size_t count = 0;
    for (std::size_t at = log.find("helper.died"); at != std::string::npos; at = log.find("helper.died", at + 1))
      ++count;
    return count;
  }
  std::size_t draw(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  void complain(const std::string& what) { complaints_.insert(what); }

  std::vector<std::string> real_words() {
    static const std::vector<const char*> kCommands = {"exit 0",
                                                       "echo hello; exit 3",
                                                       "head -c 300000 /dev/zero; exit 1",
                                                       "sleep 0.05",
                                                       "kill -9 $$",
                                                       "trap 'exit 4' TERM; sleep 5 & wait",
                                                       "yes | head -c 3000000",
                                                       "exec no-such-command",
                                                       "cat /etc/hostname >&2; exit 2"};
    return {"sh", "-c", kCommands[draw(kCommands.size())]};
  }
  std::vector<std::string> played_words() {
    static const std::vector<std::vector<std::string>> kHonest = {{"exit:0"},
                                                                  {"out:x", "exit:3"},
                                                                  {"pour:2500000", "exit:1"},
                                                                  {"ms:20", "exit:0"},
                                                                  {"refuse:layer_refused"},
                                                                  {"wait", "exit:143"},
                                                                  {"flood", "exit:143"},
                                                                  {"err:x", "refuse:jail_lost"},
                                                                  {"bare:0"}};
    static const std::vector<std::vector<std::string>> kFaulty = {
        {"crash"},   {"raw:0000000181"},  {"huge"}, {"cut"},  {"badsum"},  {"exit:0", "exit:0"}, {"stray:exec_out"},
        {"leave:3"}, {"orphan", "crash"}, {"eof"},  {"hang"}, {"overrun"}, {"kind:clear_call"}};
    return draw(60) == 0 ? kFaulty[draw(kFaulty.size())] : kHonest[draw(kHonest.size())];
  }

  void begin(Caller& caller) {
    CallSpec spec = DoorClient::spec(played_ ? played_words() : real_words());
    spec.step_id = std::to_string(draw(3));
    spec.deadline_ms = 50 + draw(200);  // what waits does not hold its slot for long
    caller.open.push_back({caller.client->call(spec), Clock::now()});
    ++begun_;
  }
  // With every so many calls, something that gets in the way.
  void disturb(Caller& caller) {
    if (draw(6) == 0) cancel(caller);
    if (draw(300) == 0) replace(clients_[draw(kClients)]);
    if (draw(400) == 0) (void)caller.client->send("abort_step", encode(AbortStep{"op", std::to_string(draw(3))}));
    if (draw(600) == 0) kill_helper();
  }
  void cancel(Caller& caller) {
    (void)caller.client->send("call_cancel", encode(CallCancel{caller.open[draw(caller.open.size())].call, {}}));
  }
  void replace(Caller& caller) {
    for (const std::string& wrong : caller.client->wrongs()) complain(wrong);
    vanished_ += caller.open.size();
    caller.open.clear();
    caller.client = std::make_unique<DoorClient>(door_.broker.socket());
  }
  void kill_helper() {
    const auto helpers = door_.broker.children();
    if (helpers.empty()) return;
    ++killed_;
    ::kill(helpers[draw(helpers.size())], SIGKILL);
  }

  bool hear(Caller& caller) {
    bool any = false;
    while (caller.client->turn(0)) any = true;
    auto& open = caller.open;
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const Open& call) {
                                const HeardCall& heard = caller.client->of(call.call);
                                if (!heard.over()) return false;
                                ++verdicts_[class_of(heard)];
                                started_ += heard.started ? 1 : 0;
                                const auto ms = std::chrono::duration<double, std::milli>(Clock::now() - call.begun);
                                latencies_.push_back(static_cast<float>(ms.count()));
                                caller.client->forget(call.call);
                                return true;
                              }),
               open.end());
    caller.client->forget_answers();
    return any;
  }
  static std::string class_of(const HeardCall& heard) {
    const std::string verdict = heard.verdict();
    return verdict.rfind("exited", 0) == 0 ? "exited" : verdict;
  }

  void print(const Level& start, const Level& end, const Value& shown) {
    std::sort(latencies_.begin(), latencies_.end());
    const auto rank = [&](double part) {
      return latencies_.empty()
                 ? 0.0F
                 : latencies_[static_cast<std::size_t>(part * static_cast<double>(latencies_.size() - 1))];
    };
    std::printf("%s\n", name_);
    std::printf("  %-44s %8zu\n", "calls", begun_);
    for (const auto& [verdict, count] : verdicts_) std::printf("    %-42s %8zu\n", verdict.c_str(), count);
    std::printf("    %-42s %8zu\n", "of callers that died", vanished_);
    std::printf("  %-44s %8zu\n", "helpers killed from outside", killed_);
    std::printf("  %-44s %8llu\n", "helpers spawned",
                static_cast<unsigned long long>(count_in(shown, {"pool", "spawned"})));
    std::printf("  %-44s %8.1f %8.1f %8.1f\n", "call to verdict, ms: p50 p95 max", static_cast<double>(rank(0.5)),
                static_cast<double>(rank(0.95)), static_cast<double>(rank(1.0)));
    std::printf("  %-44s %8ld %8ld\n", "rss, KB: start end", start.rss_kb, end.rss_kb);
    std::printf("  %-44s %8zu %8zu\n", "descriptors: start end", start.descriptors, end.descriptors);
    for (const std::string& what : complaints_) std::printf("  FAILED: %s\n", what.c_str());
  }

  const char* name_;
  Door door_;
  bool played_;
  std::mt19937 random_;
  std::vector<Caller> clients_;
  std::map<std::string, std::size_t> verdicts_;
  std::vector<float> latencies_;
  std::set<std::string> complaints_;
  std::size_t begun_ = 0;
  std::size_t started_ = 0;
  std::size_t vanished_ = 0;
  std::size_t killed_ = 0;
};

void work(const std::vector<Load*>& loads, Clock::time_point until) {
  while (Clock::now() < until) {
    bool moved = false;
    for (Load* load : loads) moved = load->turn() || moved;
    if (moved) continue;
    std::vector<pollfd> fds;
    for (const Load* load : loads) load->add_to(fds);
    ::poll(fds.data(), fds.size(), 5);
  }
}

int soak(double minutes, unsigned seed) {
  std::printf("soak: %.1f min, seed %u\n", minutes, seed);
  std::fflush(stdout);
  const std::vector<std::string> flags = {"--pool-size", "8", "--per-helper", "4"};
  Load jailed("real helpers, real jails", real(flags), false, seed);
  Load played("played helpers, every fault", acting("", flags), true, seed + 1);
  const auto span = [&](double part) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(minutes * 60 * part));
  };
  const std::vector<Load*> both = {&jailed, &played};
  work(both, Clock::now() + span(0.1));
  const Level jailed_start = jailed.drain();
  const Level played_start = played.drain();
  work(both, Clock::now() + span(0.9));
  const Level jailed_end = jailed.drain();
  const Level played_end = played.drain();
  const bool one = jailed.report(jailed_start, jailed_end);
  const bool two = played.report(played_start, played_end);
  std::printf("soak: %s\n", one && two ? "flat, and every caller was answered" : "FAILED");
  return one && two ? 0 : 1;
}

}  // namespace
}  // namespace loom::test

int main(int argc, char** argv) {
  const double minutes = argc > 1 ? std::atof(argv[1]) : 0;
  if (minutes <= 0) {
    std::fprintf(stderr, "usage: soak MINUTES [SEED]\n");
    return 2;
  }
  return loom::test::soak(minutes, argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 20261129U);
}
