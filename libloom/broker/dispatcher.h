// The seam between clearing a call and carrying it out: whoever owns helpers is a Dispatcher. The broker decides
// whether a call may run; a Dispatcher runs it and gives back one verdict. LocalExecutor is the one that exists; one
// for another machine forwards a Dispatch and nothing else changes. Ownership: Dispatch is handed over whole; an
// Execution is the broker's only way to a started one, and either release() or abandon() is called on it, once.
// deliver, allow_stdin and settle are called from inside the dispatcher's own turns, settle once and last. Carries out:
// spec/broker.md "The execution core" (the dispatcher seam).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "broker/execution.h"
#include "broker/pool.h"
#include "broker/settlement.h"
#include "wire/call_started.h"
#include "wire/exec_out.h"
#include "wire/exec_start.h"

namespace loom::broker {

struct Dispatch {
  std::uint64_t seq = 0;  // never offered twice
  Lease lease;            // from borrow(); taken over
  ExecStart request;      // holds the token: wiped by whoever writes it
  Policy policy;          // what the end is judged by
  Demand demand = Demand::kPlatform;
  bool feeds_stdin = true;                   // false: end of file at once
  std::optional<TimePoint> deadline;         // the call's own
  std::optional<TimePoint> budget_deadline;  // its step's
  std::function<void(ExecOut)> deliver;
  std::function<void(std::uint64_t upto)> allow_stdin;
  std::function<void(Settlement)> settle;
};

enum class StdinAnswer { kTaken, kPastCredit, kEnded };

class Execution {
 public:
  virtual ~Execution() = default;
  [[nodiscard]] virtual ExecutionId id() const = 0;
  virtual void cancel(StopCause by, TimePoint now) = 0;  // idempotent
  virtual void caller_down(TimePoint now) = 0;
  virtual StdinAnswer stdin_data(std::string data, bool eof, TimePoint now) = 0;
  virtual void resize(TtySize size, TimePoint now) = 0;
  virtual void credit(Stream stream, std::uint64_t upto, TimePoint now) = 0;
  virtual void release(TimePoint now) = 0;  // it settled: what was lent goes back
  virtual void abandon(TimePoint now) = 0;  // it never will: stop it, and what was lent goes back
};

// What went wrong between a lease and its exec_start; nothing ran.
enum class StartRefusal { kStaleLease, kHelperGone };

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  // A slot for one execution, or why there is none. kCongested: try again when something was freed.
  [[nodiscard]] virtual std::variant<Lease, NoSlot> borrow(TimePoint now) = 0;
  virtual void give_back(const Lease& lease, TimePoint now) = 0;  // unused
  [[nodiscard]] virtual const Report& features(const Lease& lease) const = 0;
  [[nodiscard]] virtual std::variant<std::unique_ptr<Execution>, StartRefusal> start(Dispatch dispatch,
                                                                                     TimePoint now) = 0;
};

}  // namespace loom::broker
