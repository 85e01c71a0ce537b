// The one skeleton of a daemon: open, drop, lock down, ready, loop, close (spec/style.md "libloom/service").
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "os/loop.h"

namespace loom::service {

// What a daemon is made of. run_daemon() calls these in this order, each once.
class Daemon {
 public:
  virtual ~Daemon() = default;
  // Everything that may be refused: files, sockets, programs. Nothing is announced before it has succeeded.
  [[nodiscard]] virtual Status open() = 0;
  // Gives up what serving does not need: privileges, descriptors. Most keep all.
  [[nodiscard]] virtual Status drop() { return {}; }
  // The first events; from now on it serves. Answers the line of --ready-fd. `finish` is kept and called once, from the
  // loop, with the exit status.
  [[nodiscard]] virtual std::string serve(std::function<void(int status)> finish) = 0;
  // SIGTERM or SIGINT: end in good order, then finish(). Called again for each further signal.
  virtual void close() = 0;
};

struct DaemonOptions {
  int ready_fd = -1;  // -1: nobody waits for it; taken over and closed once the line was written
};

// Answers the status given to finish(). SIGTERM and SIGINT are blocked in this thread afterwards. Errors: those of
// open() and drop(), ready_fd_failed, lock_down_failed.
[[nodiscard]] Result<int> run_daemon(Loop& loop, Daemon& daemon, const DaemonOptions& options);

// No core file and no tracer of the same user: this process holds tokens. Files it makes are its own. Error:
// lock_down_failed.
[[nodiscard]] Status lock_down();

}  // namespace loom::service
