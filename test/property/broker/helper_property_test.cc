#include <array>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "base/version.h"
#include "broker/helper.h"
#include "test/property/broker/runs.h"
#include "test/support/property.h"
#include "wire/empty.h"

namespace loom::broker {
namespace {

namespace event = helper_event;
namespace effect = helper_effect;

constexpr int kMoves = 18;

// Draws what a helper, its machine and the broker may do to the core, and keeps what must hold.
struct Model {
  HelperCore core;
  TimePoint now{seconds(100)};
  std::set<StartId> started;
  std::map<StartId, int> terminal;
  std::map<StartId, int> cancels;
  std::set<Pid> orphans;
  Pid next_orphan = 1;
  int kills = 0;
  int proofs = 0;
  int ends = 0;  // NeverLive or Died
  bool exited = false;

  Model() {
    core.local = *rc::gen::arbitrary<bool>();
    core.heartbeat = *rc::gen::arbitrary<bool>();
    take(step(core, event::Begin{}, now));
  }

  StartId some_id() const {
    const std::uint64_t any = *rc::gen::inRange<std::uint64_t>(0, core.next_id + 3);
    if (started.empty() || *rc::gen::inRange(0, 4) == 0) return any;
    return *rc::gen::elementOf(std::vector<StartId>(started.begin(), started.end()));
  }
  void feed(HelperEvent e) { take(step(core, std::move(e), now)); }
  void frame(std::uint64_t id, std::string kind, Value body) {
    feed(event::FrameIn{Frame{id, std::move(kind), std::move(body)}});
  }

  void end_of(StartId id) {
    RC_ASSERT(started.contains(id));
    RC_ASSERT(++terminal[id] == 1);
  }
  void take(const std::vector<HelperEffect>& effects) {
    for (const HelperEffect& each : effects) {
      if (const auto* e = std::get_if<effect::Send>(&each)) {
        if (const auto* cancel = std::get_if<Cancel>(&e->message)) RC_ASSERT(++cancels[cancel->target] == 1);
      } else if (std::holds_alternative<effect::Kill>(each)) {
        ++kills;
      } else if (std::holds_alternative<effect::Proved>(each)) {
        ++proofs;
        RC_ASSERT(exited);
        RC_ASSERT(!core.local || orphans.empty());
      } else if (const auto* out = std::get_if<effect::Output>(&each)) {
        RC_ASSERT(!terminal.contains(out->id));
      } else if (const auto* exit = std::get_if<effect::Exit>(&each)) {
        end_of(exit->id);
      } else if (const auto* failed = std::get_if<effect::Failed>(&each)) {
        end_of(failed->id);
      } else if (const auto* down = std::get_if<effect::Down>(&each)) {
        end_of(down->id);
      } else if (std::holds_alternative<effect::NeverLive>(each) || std::holds_alternative<effect::Died>(each)) {
        ++ends;
      }
    }
    RC_ASSERT(kills <= 1);
    RC_ASSERT(proofs <= 1);
    RC_ASSERT(ends <= 1);
    for (const StartId id : started) RC_ASSERT(terminal.contains(id) || core.runners.contains(id));
  }

  void exit_process() {
    if (exited) return;
    exited = true;
    const int left = *rc::gen::inRange(0, 3);
    std::vector<Pid> pids;
    for (int i = 0; i < left; ++i) pids.push_back(next_orphan++);
    orphans.insert(pids.begin(), pids.end());
    feed(event::Exited{*rc::gen::arbitrary<bool>(), *rc::gen::element(0, 1, 9), pids});
  }
  void output() {
    const StartId id = some_id();
    const std::string data(*rc::gen::inRange<std::size_t>(0, 5), 'x');
    const auto at = core.runners.find(id);
    const std::uint64_t before = at == core.runners.end() ? 0 : at->second.stdout_bytes;
    const std::uint64_t lie = *rc::gen::inRange(0, 10) == 0 ? 1U : 0U;
    ExecOut out{Stream::kStdout, data, before + data.size() + lie, *rc::gen::inRange(0, 10) == 0};
    if (*rc::gen::arbitrary<bool>()) return feed(event::OutIn{id, std::move(out)});
    frame(id, "exec_out", encode(out));
  }
  void exit_frame() {
    const StartId id = some_id();
    const auto at = core.runners.find(id);
    ExecExit exit;
    if (at != core.runners.end()) {
      exit.stdout_bytes = at->second.stdout_bytes;
      exit.stderr_bytes = at->second.stderr_bytes;
      exit.stdout_truncated = at->second.stdout_truncated;
    }
    frame(id, "exec_exit", encode(exit));
  }
  void begin_one() {
    ExecStart request;
    request.argv = {"x"};
    request.cwd = "/";
    request.token = "t";
    const auto begun = start(core, request);
    RC_ASSERT(!begun || core.phase == HelperPhase::kLive);
    if (begun) RC_ASSERT(started.insert(begun->id).second);
  }
  void orphan_gone() {
    if (orphans.empty()) return;
    const Pid pid = *orphans.begin();
    orphans.erase(orphans.begin());
    feed(event::OrphanGone{pid});
  }

  void move(int what) {
    switch (what) {
      case 0:
        return frame(1, "hello",
                     encode(ExecHello{*rc::gen::element(kExecProto, kExecProto, kExecProto - 1),
                                      "loom-exec/x",
                                      {},
                                      *rc::gen::inRange<std::uint64_t>(1, 5)}));
      case 1:
      case 2:
        return begin_one();
      case 3:
        return output();
      case 4:
        return exit_frame();
      case 5:
        return frame(some_id(), "error",
                     encode(ErrorMessage{*rc::gen::element<std::string>("bad_cwd", "jail_lost", "no_exec"), "m"}));
      case 6:
        return frame(0, "exec_credit", encode(ExecCredit{some_id(), Stream::kStdin, kInitialCredit + 1}));
      case 7:
        return frame(core.heartbeat_id, "heartbeat", encode_empty());
      case 8:
        return frame(some_id(), *rc::gen::element<std::string>("teleport", "exec_start", "ok"), encode_empty());
      case 9:
        return feed(event::CancelRun{some_id()});
      case 10:
        return feed(event::SendStdin{some_id(), "in", *rc::gen::arbitrary<bool>()});
      case 11:
        return feed(event::GrantOutput{some_id(), Stream::kStdout, kInitialCredit + 7});
      case 12:
        if (*rc::gen::inRange(0, 4) == 0) feed(event::Retire{});
        return;
      case 13:
        if (*rc::gen::inRange(0, 4) == 0) feed(event::Eof{});
        return;
      case 14:
        if (*rc::gen::inRange(0, 4) == 0)
          feed(event::Fault{Error{"malformed_frame", "", "x", ""}, *rc::gen::arbitrary<bool>()});
        return;
      case 15:
        if (*rc::gen::inRange(0, 4) == 0) exit_process();
        return;
      case 16:
        return orphan_gone();
      default:
        now += milliseconds(*rc::gen::inRange(0, 4000));
        return feed(event::Timer{});
    }
  }

  // Whatever came before: once the process ends and its leavings are reaped, all is settled and the end is proved,
  // unless it stood behind a carrier that ended with work running.
  void finish() {
    exit_process();
    while (!orphans.empty()) orphan_gone();
    RC_ASSERT(core.runners.empty());
    for (const StartId id : started) RC_ASSERT(terminal[id] == 1);
    if (core.local) RC_ASSERT(proofs == 1);
    now += seconds(10);
    feed(event::Timer{});
    RC_ASSERT(!next_deadline(core).has_value());
  }
};

TEST(HelperProperty, EveryExecutionEndsOnceAndAProofIsAProof) {
  std::array<int, kMoves> drawn{};
  loom::test::property("each exec_start has one terminal effect, a cancel is sent once, a kill once, a proof once",
                       [&drawn] {
                         Model model;
                         if (*rc::gen::inRange(0, 8) != 0) {
                           model.frame(1, "hello", encode(ExecHello{kExecProto, "loom-exec/x", {}, 4}));
                         }
                         const int steps = *rc::gen::inRange(0, 60);
                         for (int i = 0; i < steps; ++i) {
                           const int what = *rc::gen::inRange(0, kMoves);
                           ++drawn[static_cast<std::size_t>(what)];
                           model.move(what);
                         }
                         model.finish();
                       });
  for (const int times : drawn) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace loom::broker
