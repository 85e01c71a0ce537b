#include "os/signals.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

bool is_blocked(int signal) {
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, signal) == 1;
}

TEST(Signals, AnOwnersEndLeavesTheSignalsOfOthersBlocked) {
  Loop loop;
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  {
    const Signals signals(loop, {SIGUSR1}, [](int) {});
    EXPECT_TRUE(is_blocked(SIGUSR1));
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    {
      const Signals again(loop, {SIGUSR1, SIGUSR2}, [](int) {});
    }
    EXPECT_TRUE(is_blocked(SIGUSR1)) << "it was blocked before the second owner came";
    EXPECT_FALSE(is_blocked(SIGUSR2));
  }
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_TRUE(is_blocked(SIGCHLD));
  ::sigprocmask(SIG_UNBLOCK, &child, nullptr);
}

}  // namespace
}  // namespace loom
