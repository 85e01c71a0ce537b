// Signals as events of the loop: blocked while the owner lives, read from a descriptor (spec/broker.md "Flags of run
// and call").
#pragma once

#include <csignal>
#include <functional>
#include <vector>

#include "os/loop.h"
#include "os/unique_fd.h"

namespace loom {

class Signals {
 public:
  // Blocks the signals in this thread and calls back with each that comes. The mask is inherited by children: whoever
  // starts one resets it. The owner unblocks those that were not blocked before and leaves every other signal as it is
  // by then; what is pending then acts as it would have.
  Signals(Loop& loop, const std::vector<int>& signals, std::function<void(int signal)> callback);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void read_all();
  UniqueFd fd_;
  sigset_t added_{};
  std::function<void(int)> callback_;
  Loop::Watch watch_;
};

}  // namespace loom
