// This process as the reaper of its children and of every process that is reparented to it. A helper's end is proved by
// its status AND by having reaped whatever it left behind: a reaped init has taken its namespace along (spec/broker.md
// "Helpers and the pool", "Retirement needs proof"). While a Subreaper lives, nothing else in this process may wait for
// children.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <vector>

#include "base/result.h"
#include "os/loop.h"
#include "os/unique_fd.h"

namespace loom {

// How a process ended, decoded from the native wait status.
struct ChildEnd {
  int code = 0;    // exit status; 128+signal when signalled
  int signal = 0;  // 0: it exited
};

class Subreaper {
 public:
  // Called once per child, from the loop, after it was reaped.
  using Ended = std::function<void(ChildEnd)>;
  // Called after any process that was reparented to us has been reaped.
  using Reaped = std::function<void(pid_t)>;

  // Blocks SIGCHLD in this thread (children get an empty mask from spawn_child). Error: subreaper_failed.
  [[nodiscard]] static Result<std::unique_ptr<Subreaper>> open(Loop& loop, Reaped on_orphan);

  // `pid` is a child of ours that has not been reaped.
  void expect(pid_t pid, Ended ended);
  // Processes that are our children now and that nobody expects: reparented ones, running or waiting to be reaped.
  [[nodiscard]] std::vector<pid_t> orphans() const;
  // Reaps whatever has ended by now. The loop does this by itself; a caller that is about to judge does it first.
  void reap();

 private:
  Subreaper(Loop& loop, UniqueFd signals, Reaped on_orphan);
  void drain_signals();

  UniqueFd signals_;
  Reaped on_orphan_;
  std::map<pid_t, Ended> expected_;
  Loop::Watch watch_;
};

// Every child of process `pid`, from the kernel's own list; for tests and for a subreaper's look at itself.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

}  // namespace loom
