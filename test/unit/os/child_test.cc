// The owner of a child: it ends and reaps it, also after a loop has watched its descriptor.
#include "os/child.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "os/loop.h"

namespace loom {
namespace {

pid_t sleeping_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  return child;
}

OwnedChild owner_of(pid_t child) {
  return OwnedChild(UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))));
}

// Not even a zombie is left.
bool is_gone(pid_t child) {
  return ::waitpid(child, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

TEST(OwnedChild, EndsAndReapsWhatItOwns) {
  const pid_t child = sleeping_child();
  owner_of(child).end();
  EXPECT_TRUE(is_gone(child));
}

TEST(OwnedChild, ReapsAChildWhoseDescriptorALoopMadeNonBlocking) {
  Loop loop;
  const pid_t child = sleeping_child();
  {
    OwnedChild owned = owner_of(child);
    const Loop::Watch watch = loop.watch(owned.pidfd(), Readiness::kRead, [] {});
    owned.end();
    EXPECT_FALSE(owned.running());
  }
  EXPECT_TRUE(is_gone(child));
}

TEST(OwnedChild, IsNotReapedBeforeItsEnd) {
  const pid_t child = sleeping_child();
  OwnedChild owned = owner_of(child);
  EXPECT_FALSE(owned.try_reap());
  EXPECT_TRUE(owned.running());
  owned.end();
  EXPECT_TRUE(is_gone(child));
}

}  // namespace
}  // namespace loom
