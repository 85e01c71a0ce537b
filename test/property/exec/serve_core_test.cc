// Whatever a peer sends and whatever the executions do: the promises of the exec channel hold (spec/wire.md "Exec
// channel").
#include "helper/serve_core.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/version.h"
#include "test/support/property.h"
#include "wire/cancel.h"
#include "wire/empty.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_hello.h"
#include "wire/exec_start.h"
#include "wire/exec_stdin.h"
#include "wire/exec_winsize.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kWindow = kInitialCredit;
constexpr unsigned kCapacity = 2;

// One drawn step. What an execution does is drawn for an id that may or may not be running.
enum class Draw {
  kHello,
  kStart,
  kStdin,
  kStdinHuge,
  kWinsize,
  kCredit,
  kCancel,
  kShutdown,
  kHeartbeat,
  kPeerError,
  kUnknownKind,
  kForbidden,
  kBadBody,
  kMalformed,
  kPartial,
  kInputEnded,
  kOutputClosed,
  kTerminate,
  kOutput,
  kWritten,
  kConsumed,
  kExited,
  kFailed,
  kTick,
};
constexpr int kDraws = static_cast<int>(Draw::kTick) + 1;

struct Step {
  Draw draw = Draw::kTick;
  std::uint64_t id = 0;
  std::uint64_t amount = 0;
  bool flag = false;
};

// What a careful observer outside knows.
struct Observer {
  struct Exec {
    std::uint64_t peer_upto[2] = {kWindow, kWindow};
    std::uint64_t allowed[2] = {0, 0};
    std::uint64_t sent[2] = {0, 0};
    std::uint64_t written[2] = {0, 0};
    std::uint64_t stdin_given = 0;
    std::uint64_t stdin_upto = kWindow;
  };
  std::map<std::uint64_t, Exec> running;
  std::set<std::uint64_t> settled;
  std::uint64_t last_start = 0;
  std::uint64_t clock = 0;
  bool hello_sent = false;
  bool closed = false;
  bool finished = false;
};

class Machine {
 public:
  Machine() : core_(settings()) { carry(core_.step(event::Opened{}, now())); }

  void take(const Step& step) {
    carry(core_.step(make(step), now()));
    RC_ASSERT(core_.running() == seen_.running.size());
    RC_ASSERT(core_.running() <= kCapacity);
    RC_ASSERT(!seen_.finished || seen_.running.empty());
  }
  // However it went, an end of input and the end of what runs finish the helper.
  void wind_up() {
    if (seen_.finished) return;
    carry(core_.step(event::InputEnded{false}, now()));
    while (!seen_.running.empty()) {
      const std::uint64_t id = seen_.running.begin()->first;
      end(id);
      carry(core_.step(event::Exited{id, {}}, now()));
    }
    RC_ASSERT(seen_.finished);
  }

 private:
  static ServeSettings settings() {
    ServeSettings out;
    out.capacity = kCapacity;
    out.base = Policy{};
    return out;
  }
  TimePoint now() const { return TimePoint(milliseconds(static_cast<std::int64_t>(seen_.clock))); }
  static ServeEvent frame(std::uint64_t id, Kind kind, Value body) {
    return event::FrameIn{Frame{id, std::string(to_text(kind)), std::move(body)}};
  }
  static Stream stream(const Step& s) { return s.flag ? Stream::kStderr : Stream::kStdout; }

  ServeEvent start(const Step& s) {
    ExecStart what;
    what.argv = {"x"};
    what.cwd = "/";
    what.token = "t";
    if (s.flag) what.tty = TtySize{1, 1};
    if (s.amount % 7 == 0) what.policy = Map{{"v", 3}};
    // Mostly increasing, now and then a repeat.
    const std::uint64_t id = s.amount % 11 == 0 ? seen_.last_start : seen_.last_start + 1 + s.id;
    if (seen_.hello_sent) seen_.last_start = std::max(seen_.last_start, id);
    return frame(id, Kind::kExecStart, encode(what));
  }
  std::uint64_t target(const Step& s) const {
    if (seen_.running.empty()) return s.id;
    auto it = seen_.running.begin();
    std::advance(it, static_cast<long>(s.id % (seen_.running.size() + 1)) % static_cast<long>(seen_.running.size()));
    return s.id % 5 == 4 ? 999999 : it->first;
  }
  void end(std::uint64_t id) {
    if (seen_.running.erase(id) != 0) ending_ = id;
  }

  ServeEvent make(const Step& s) {
    const std::uint64_t to = target(s);
    const auto found = seen_.running.find(to);
    const std::size_t index = s.flag ? 1 : 0;
    switch (s.draw) {
      case Draw::kHello:
        return frame(0, Kind::kHello, encode(ExecHello{kExecProto + (s.amount % 9 == 0), "p", {}, 0}));
      case Draw::kStart:
        return start(s);
      case Draw::kStdin: {
        const std::string data(s.amount % 5000, 'x');
        return frame(s.id, Kind::kExecStdin, encode(ExecStdin{to, data, s.amount % 13 == 0}));
      }
      case Draw::kStdinHuge:
        return frame(s.id, Kind::kExecStdin, encode(ExecStdin{to, std::string(kWindow + 1, 'x'), false}));
      case Draw::kWinsize:
        return frame(s.id, Kind::kExecWinsize, encode(ExecWinsize{to, 1, 2}));
      case Draw::kCredit: {
        const std::uint64_t upto = s.amount * 1000;
        if (found != seen_.running.end())
          found->second.peer_upto[index] = std::max(found->second.peer_upto[index], upto);
        return frame(s.id, Kind::kExecCredit, encode(ExecCredit{to, stream(s), upto}));
      }
      case Draw::kCancel:
        return frame(s.id, Kind::kCancel, encode(Cancel{to}));
      case Draw::kShutdown:
        return frame(s.id, Kind::kShutdown, encode_empty());
      case Draw::kHeartbeat:
        return frame(s.id, Kind::kHeartbeat, encode_empty());
      case Draw::kPeerError:
        return frame(s.id, Kind::kError, encode(ErrorMessage{"oops", "words"}));
      case Draw::kUnknownKind:
        return event::FrameIn{Frame{s.id, "teleport", Map{}}};
      case Draw::kForbidden:
        return frame(s.id, Kind::kExecOut, Map{});
      case Draw::kBadBody:
        return frame(s.id, Kind::kCancel, Map{{"target", "one"}});
      case Draw::kMalformed:
        return event::Malformed{Error{"malformed_frame", {}, "x", {}}};
      case Draw::kPartial:
        return event::PartialFrame{};
      case Draw::kInputEnded:
        return event::InputEnded{s.flag};
      case Draw::kOutputClosed:
        return event::OutputClosed{};
      case Draw::kTerminate:
        return event::Terminate{};
      case Draw::kOutput: {  // an engine never goes past what it was allowed
        std::uint64_t size = 0;
        if (found != seen_.running.end()) {
          size = std::min(s.amount * 100, found->second.allowed[index] - found->second.sent[index]);
          found->second.sent[index] += size;
        }
        return event::Output{to, stream(s), size, false};
      }
      case Draw::kWritten: {
        std::uint64_t size = 0;
        if (found != seen_.running.end()) {
          size = std::min(s.amount * 100, found->second.sent[index] - found->second.written[index]);
          found->second.written[index] += size;
        }
        return event::Written{to, stream(s), size};
      }
      case Draw::kConsumed: {
        const std::uint64_t given = found != seen_.running.end() ? found->second.stdin_given : 0;
        return event::StdinConsumed{to, given};
      }
      case Draw::kExited:
        end(to);
        return event::Exited{to, {}};
      case Draw::kFailed:
        end(to);
        return event::Failed{to, Error{"spawn_failed", {}, "x", {}}};
      case Draw::kTick:
        seen_.clock += s.amount;
        return event::Tick{};
    }
    return event::Tick{};
  }

  void terminal(std::uint64_t id) {
    RC_ASSERT(seen_.running.count(id) == 0);
    RC_ASSERT(seen_.settled.insert(id).second);  // at most one
  }

  void on(const effect::Send& e) {
    RC_ASSERT(!seen_.closed);
    if (e.kind == Kind::kHello) seen_.hello_sent = true;
    if (e.kind == Kind::kExecExit) terminal(e.id);
    if (e.kind == Kind::kExecCredit) {
      const auto credit = decode_exec_credit(e.body);
      RC_ASSERT(credit.has_value());
      auto& exec = seen_.running.at(credit->target);
      RC_ASSERT(credit->upto > exec.stdin_upto);
      RC_ASSERT(credit->upto <= exec.stdin_given + kWindow);
      exec.stdin_upto = credit->upto;
    }
  }
  void on(const effect::SendOutput& e) {
    RC_ASSERT(!seen_.closed);
    RC_ASSERT(e.bytes == seen_.running.at(e.id).sent[e.stream == Stream::kStderr ? 1 : 0]);
  }
  void on(const effect::Start& e) {
    RC_ASSERT(!seen_.closed);
    RC_ASSERT(seen_.running.count(e.id) == 0);
    RC_ASSERT(seen_.settled.count(e.id) == 0);
    seen_.running[e.id] = {};
  }
  void on(const effect::WriteStdin& e) {
    auto& exec = seen_.running.at(e.id);
    exec.stdin_given += e.data.size();
    RC_ASSERT(exec.stdin_given <= exec.stdin_upto);
  }
  void on(const effect::AllowOutput& e) {
    auto& exec = seen_.running.at(e.id);
    const std::size_t index = e.stream == Stream::kStderr ? 1 : 0;
    RC_ASSERT(e.upto > exec.allowed[index]);
    RC_ASSERT(e.upto <= exec.peer_upto[index]);
    RC_ASSERT(e.upto <= exec.written[index] + kWindow);
    exec.allowed[index] = e.upto;
  }
  void on(const effect::Resize& e) const { RC_ASSERT(seen_.running.count(e.id) == 1); }
  void on(const effect::CancelExecution& e) const { RC_ASSERT(seen_.running.count(e.id) == 1); }
  void on(const effect::CloseChannel&) {
    RC_ASSERT(!seen_.closed);
    seen_.closed = true;
  }
  void on(const effect::Finish& e) {
    RC_ASSERT(!seen_.finished);
    RC_ASSERT(seen_.running.empty());
    RC_ASSERT(e.status == 0 || e.status == 1);
    seen_.finished = true;
  }

  void carry(const ServeEffects& effects) {
    const bool was_open = !seen_.closed;
    for (const auto& effect : effects) {
      RC_ASSERT(!seen_.finished);  // nothing comes after Finish
      std::visit([this](const auto& e) { on(e); }, effect);
    }
    if (ending_ && was_open) {
      // The end that was just given has been told once, as an exit or as an error with its id.
      bool told = seen_.settled.count(*ending_) == 1;
      for (const auto& effect : effects) {
        const auto* send = std::get_if<effect::Send>(&effect);
        told = told || (send != nullptr && send->kind == Kind::kError && send->id == *ending_);
      }
      RC_ASSERT(told);
    }
    if (ending_) seen_.settled.insert(*ending_);
    ending_.reset();
  }

  ServeCore core_;
  Observer seen_;
  std::optional<std::uint64_t> ending_;
};

rc::Gen<Step> a_step() {
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, kDraws), rc::gen::inRange<std::uint64_t>(0, 8),
                                     rc::gen::inRange<std::uint64_t>(0, 20000), rc::gen::arbitrary<bool>()),
                      [](const std::tuple<int, std::uint64_t, std::uint64_t, bool>& t) {
                        return Step{static_cast<Draw>(std::get<0>(t)), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
                      });
}
// Steps after which the channel still stands, so that long histories are reached as well.
rc::Gen<Step> a_gentle_step() {
  return rc::gen::suchThat(a_step(), [](const Step& s) {
    switch (s.draw) {
      case Draw::kStart:
        return s.amount % 11 != 0;
      case Draw::kStdin:
        return s.amount % 13 != 0;
      case Draw::kTick:
      case Draw::kHello:
      case Draw::kStdinHuge:
      case Draw::kShutdown:
      case Draw::kForbidden:
      case Draw::kBadBody:
      case Draw::kMalformed:
      case Draw::kInputEnded:
      case Draw::kOutputClosed:
      case Draw::kTerminate:
        return false;
      case Draw::kWinsize:
      case Draw::kCredit:
      case Draw::kCancel:
      case Draw::kHeartbeat:
      case Draw::kPeerError:
      case Draw::kUnknownKind:
      case Draw::kPartial:
      case Draw::kOutput:
      case Draw::kWritten:
      case Draw::kConsumed:
      case Draw::kExited:
      case Draw::kFailed:
        return true;
    }
    return true;
  });
}

std::set<int>& drawn() {
  static std::set<int> kinds;
  return kinds;
}

void run_history(const std::vector<Step>& steps, bool greeted) {
  Machine machine;
  if (greeted) machine.take(Step{Draw::kHello, 0, 1, false});
  for (const auto& step : steps) {
    drawn().insert(static_cast<int>(step.draw));
    machine.take(step);
  }
  machine.wind_up();
}

TEST(ServeCore, KeepsItsPromisesWhateverComes) {
  test::property("one terminal frame a start, windows held, nothing after the close, one finish",
                 [] { run_history(*rc::gen::container<std::vector<Step>>(a_step()), *rc::gen::arbitrary<bool>()); });
  test::property("the same over long sound histories",
                 [] { run_history(*rc::gen::container<std::vector<Step>>(a_gentle_step()), true); });
  EXPECT_EQ(drawn().size(), static_cast<std::size_t>(kDraws)) << "every kind of event was drawn";
}

}  // namespace
}  // namespace loom::helper
