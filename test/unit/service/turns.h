// A loop that runs until something is true, or fails the test after ten seconds.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "os/loop.h"

namespace loom::test {

class Turns {
 public:
  Loop& loop() { return loop_; }
  // To be called by whatever may have made it true.
  void happened() { loop_.stop(); }
  void until(const std::function<bool()>& done) {
    bool late = false;
    const Loop::Timer limit = loop_.timer(monotonic_now() + seconds(10), [&] {
      late = true;
      loop_.stop();
    });
    // Conditions that no callback tells of are looked at every few milliseconds.
    while (!done() && !late) {
      const Loop::Timer look = loop_.timer(monotonic_now() + milliseconds(5), [this] { loop_.stop(); });
      loop_.run();
    }
    EXPECT_FALSE(late) << "it did not happen";
  }
  // Lets everything run that is ready, and a little more.
  void for_a_moment() {
    const Loop::Timer over = loop_.timer(monotonic_now() + milliseconds(40), [this] { loop_.stop(); });
    loop_.run();
  }

 private:
  Loop loop_;
};

}  // namespace loom::test
