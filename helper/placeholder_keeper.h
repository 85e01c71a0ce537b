// The helper's side of placeholders: it holds their locks while the execution lives, and has them taken away at its
// end by a process of its own, because a helper waits for no path (spec/jail.md "Parts", "Missing").
//
// States: holding -> releasing -> released. release() without anything to take away is released at once. Destroyed
// while holding or releasing, it waits for the process, two seconds at most; what that one has not done by then it goes
// on doing alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "helper/placeholders.h"
#include "os/child.h"
#include "os/loop.h"

namespace loom::helper {

class PlaceholderKeeper {
 public:
  explicit PlaceholderKeeper(Loop& loop) : loop_(loop) {}
  ~PlaceholderKeeper();
  PlaceholderKeeper(const PlaceholderKeeper&) = delete;
  PlaceholderKeeper& operator=(const PlaceholderKeeper&) = delete;

  void hold(std::vector<UniqueFd> locks);
  void remember(GuardRecord record) { records_.push_back(std::move(record)); }

  // When nothing of the jail lives. `released` is called from the loop, once, unless there is nothing to wait for: then
  // the answer is true and it is not called. Asked again it answers how things stand.
  bool release(std::function<void()> released);
  // What stands where nothing stood, as events; known once it is released.
  [[nodiscard]] const std::vector<std::string>& appeared() const { return appeared_; }

 private:
  enum class State { kHolding, kReleasing, kReleased };
  [[nodiscard]] bool start();
  void on_end();

  Loop& loop_;
  State state_ = State::kHolding;
  std::vector<UniqueFd> locks_;
  std::vector<GuardRecord> records_;
  std::vector<std::string> appeared_;
  UniqueFd said_;  // what the process found
  UniqueFd process_;
  Loop::Watch watch_;
  std::function<void()> released_;
};

}  // namespace loom::helper
