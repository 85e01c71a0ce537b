#include "os/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "test/unit/os/temporary_directory.h"

namespace loom {
namespace {

using test::TemporaryDirectory;

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, 10'000) != 1) return text + "<stuck>";
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

int status_of(const SpawnedChild& child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child.pid, &status, 0), child.pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Result<SpawnedChild> shell(const std::string& script, int policy_fd = -1) {
  return spawn_child(SpawnRequest{"/bin/sh", {"-c", script}, policy_fd});
}

TEST(Spawn, FramesGoInAndOutAndTheEndOfInputIsSeen) {
  auto child = shell("cat; echo end; exit 3");
  ASSERT_TRUE(child) << child.error().text();
  ASSERT_EQ(::write(child->to_child.get(), "ping\n", 5), 5);
  child->to_child.reset();
  EXPECT_EQ(read_all(child->from_child.get()), "ping\nend\n");
  EXPECT_EQ(status_of(*child), 3);
}

TEST(Spawn, OnlyTheStandardDescriptorsAndThePolicyCrossTheExec) {
  // Without close-on-exec, as a careless caller leaves it.
  const UniqueFd leaked(::fcntl(0, F_DUPFD, 50));
  ASSERT_EQ(leaked.get(), 50);
  const auto policy = sealed_memfd("the policy");
  ASSERT_TRUE(policy) << policy.error().text();
  auto child = shell("cat <&3; echo; for n in 0 1 2 3 50; do test -e /proc/$$/fd/$n && echo $n; done", policy->get());
  ASSERT_TRUE(child);
  child->to_child.reset();
  EXPECT_EQ(read_all(child->from_child.get()), "the policy\n0\n1\n2\n3\n");
  status_of(*child);
}

TEST(Spawn, WithoutAPolicyDescriptorThreeIsClosed) {
  auto child = shell("test -e /proc/$$/fd/3 && echo open || echo closed");
  ASSERT_TRUE(child);
  EXPECT_EQ(read_all(child->from_child.get()), "closed\n");
  status_of(*child);
}

TEST(Spawn, ThePolicyFileCannotBeChangedByWhoeverHoldsIt) {
  const auto policy = sealed_memfd("fixed");
  ASSERT_TRUE(policy);
  EXPECT_EQ(::pwrite(policy->get(), "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(policy->get(), 0), -1);
  char bytes[8];
  EXPECT_EQ(::read(policy->get(), bytes, sizeof bytes), 5);
}

TEST(Spawn, SignalsAreDefaultAndUnblockedAndTheSessionIsItsOwn) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  // What libc keeps for itself and posix_spawn leaves ignored: only the kernel's own call can say so.
  struct {
    void (*handler)(int);
    unsigned long flags;
    void* restorer;
    std::uint64_t mask;
  } ignored{SIG_IGN, 0, nullptr, 0}, kept{};
  ASSERT_EQ(::syscall(SYS_rt_sigaction, 33, &ignored, &kept, sizeof ignored.mask), 0);
  sigset_t block;
  ::sigemptyset(&block);
  ::sigaddset(&block, SIGTERM);
  sigset_t old;
  ::sigprocmask(SIG_BLOCK, &block, &old);
  auto child = spawn_child(SpawnRequest{"/bin/cat", {"/proc/self/status", "/proc/self/stat"}, -1});
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::signal(SIGPIPE, before);
  ::syscall(SYS_rt_sigaction, 33, &kept, nullptr, sizeof kept.mask);
  ASSERT_TRUE(child);
  const std::string status = read_all(child->from_child.get());
  EXPECT_NE(status.find("SigBlk:\t0000000000000000"), std::string::npos);
  EXPECT_NE(status.find("SigIgn:\t0000000000000000"), std::string::npos);
  const std::string pid = std::to_string(child->pid);
  // pid (comm) state ppid pgrp session
  EXPECT_NE(status.find(pid + " (cat) R " + std::to_string(::getpid()) + " " + pid + " " + pid + " "),
            std::string::npos)
      << status;
  EXPECT_EQ(status_of(*child), 0);
}

TEST(Spawn, AMissingProgramADirectoryAndAFileWithoutXAreClearErrors) {
  const TemporaryDirectory home;
  std::ofstream(home / "plain") << "#!/bin/sh\n";
  const auto refused = [](const std::string& program) {
    const auto child = spawn_child(SpawnRequest{program, {}, -1});
    EXPECT_FALSE(child);
    return child ? Error{} : child.error();
  };
  for (const std::string& program : {home / "absent", home.path(), home / "plain"}) {
    EXPECT_EQ(refused(program).code, "spawn_failed");
    EXPECT_EQ(refused(program).where, program);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(Spawn, WhatExecItselfRefusesIsAnErrorAndLeavesNothing) {
  const TemporaryDirectory home;
  std::ofstream(home / "bad") << "#!/nonexistent/interpreter\n";
  ASSERT_EQ(::chmod((home / "bad").c_str(), 0755), 0);
  const auto child = spawn_child(SpawnRequest{home / "bad", {}, -1});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, "spawn_failed");
  EXPECT_NE(child.error().what.find("No such file"), std::string::npos) << child.error().text();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(Spawn, AStoppedChildIsContinuedByItsParentsDeath) {
  int report[2];
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    // The child stops itself; after the parent's death it must run on and read its end of input.
    ::dup2(report[1], 2);
    auto child = shell("echo ready; kill -STOP $$; cat >/dev/null; echo over >&2");
    char byte = 0;
    while (child && ::read(child->from_child.get(), &byte, 1) != 1) ::poll(nullptr, 0, 1);
    siginfo_t info{};
    if (child) ::waitid(P_PID, static_cast<id_t>(child->pid), &info, WSTOPPED);
    ::_exit(0);
  }
  ::close(report[1]);
  EXPECT_EQ(read_all(report[0]), "over\n");
  ::close(report[0]);
  ::waitpid(parent, nullptr, 0);
}

}  // namespace
}  // namespace loom
