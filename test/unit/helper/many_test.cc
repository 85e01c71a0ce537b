// Many executions of one helper: beside each other, given up half-way, and what they leave (nothing).
#include <gtest/gtest.h>

#include <thread>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

std::string mount_table() {
  std::ifstream file("/proc/self/mountinfo");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Many, ExecutionsLeaveNoDescriptorNoMountAndNoProcess) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  runner.run(JailRunner::shell("true", workspace.path()));
  const std::size_t before = open_descriptors();
  const std::string mounts = mount_table();
  for (int i = 0; i < 20; ++i) {
    const char* script = i % 4 == 0 ? "sleep 60 & exit 1" : (i % 4 == 1 ? "kill -9 $$" : "echo x");
    runner.run(JailRunner::shell(script, i % 5 == 4 ? "/no/such/workspace" : workspace.path()));
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(mount_table(), mounts);
  EXPECT_TRUE(processes_of_init_below(::getpid()).empty());
}

TEST(Many, FourRunBesideEachOtherAndKeepTheirStreamsApart) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  std::array<std::string, 4> out;
  std::vector<std::unique_ptr<Execution>> running;
  int left = 4;
  for (int i = 0; i < 4; ++i) {
    ExecEvents events;
    events.output = [&out, i](Stream, std::string_view data, std::uint64_t, bool) { out[i].append(data); };
    events.stdin_consumed = [](std::uint64_t) {};
    events.exited = [&](const ExecExit&) {
      if (--left == 0) runner.loop.stop();
    };
    events.failed = [&](const Error& error) {
      ADD_FAILURE() << error.text();
      if (--left == 0) runner.loop.stop();
    };
    running.push_back(start_execution(runner.loop, runner.host,
                                      JailRunner::shell("for i in 1 2 3; do echo " + std::to_string(i) +
                                                            "; sleep 0.02; done; ls /proc | grep -cE '^[0-9]+$'",
                                                        workspace.path()),
                                      std::move(events)));
  }
  runner.loop.run();
  for (int i = 0; i < 4; ++i) {
    const std::string line = std::to_string(i) + "\n";
    EXPECT_EQ(out[i].substr(0, 6), line + line + line);
    EXPECT_LT(std::stoi(out[i].substr(6)), 7);
  }
}

TEST(Many, AnExecutionThatIsDestroyedTakesItsJailAlong) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  ExecEvents events;
  events.output = [&](Stream, std::string_view, std::uint64_t, bool) { runner.loop.stop(); };
  events.stdin_consumed = [](std::uint64_t) {};
  events.exited = [](const ExecExit&) { ADD_FAILURE() << "ended by itself"; };
  events.failed = [&](const Error& error) {
    ADD_FAILURE() << error.text();
    runner.loop.stop();
  };
  auto execution =
      start_execution(runner.loop, runner.host,
                      JailRunner::shell("setsid sleep 60 & echo up; sleep 60", workspace.path()), std::move(events));
  runner.loop.run();
  const std::vector<pid_t> inside = processes_of_init_below(::getpid());
  EXPECT_GE(inside.size(), 3U);
  execution.reset();
  for (const pid_t pid : inside) EXPECT_TRUE(ends_within(pid, 5000)) << pid;
}

// At every moment of the building: what was started is gone with its owner.
TEST(Many, ExecutionsThatAreCancelledOrDestroyedWhileTheyAreBuiltLeaveNothing) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  for (int i = 0; i < 40; ++i) {
    ExecEvents events;
    events.output = [](Stream, std::string_view, std::uint64_t, bool) {};
    events.stdin_consumed = [](std::uint64_t) {};
    events.exited = [&](const ExecExit&) { runner.loop.stop(); };
    events.failed = [&](const Error&) { runner.loop.stop(); };
    auto execution =
        start_execution(runner.loop, runner.host, JailRunner::shell("sleep 60", workspace.path()), std::move(events));
    const bool destroyed = i % 2 == 0;
    const auto end = runner.loop.timer(runner.loop.now() + std::chrono::microseconds(200 * i),
                                       [&] { destroyed ? runner.loop.stop() : execution->cancel(); });
    runner.loop.run();
    execution.reset();
  }
  // Children that only their own end was waiting for may take a moment to be reaped by the kernel's hand.
  for (const pid_t pid : processes_of_init_below(::getpid())) EXPECT_TRUE(ends_within(pid, 5000)) << pid;
}

TEST(Many, AReaderThatGivesNoCreditHoldsTheCommandButNotACancel) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  std::uint64_t delivered = 0;
  std::optional<ExecExit> exit;
  std::unique_ptr<Execution> execution;
  ExecEvents events;
  events.output = [&](Stream, std::string_view, std::uint64_t cumulative, bool) {
    delivered = cumulative;
    if (delivered == kInitialCredit) execution->cancel();
  };
  events.stdin_consumed = [](std::uint64_t) {};
  events.exited = [&](const ExecExit& ended) {
    exit = ended;
    runner.loop.stop();
  };
  events.failed = [&](const Error& error) {
    ADD_FAILURE() << error.text();
    runner.loop.stop();
  };
  execution = start_execution(runner.loop, runner.host, JailRunner::request({"/usr/bin/yes"}, workspace.path()),
                              std::move(events));
  runner.loop.run();
  ASSERT_TRUE(exit);
  EXPECT_EQ(delivered, kInitialCredit);
  EXPECT_EQ(exit->stdout_bytes, kInitialCredit);
  EXPECT_TRUE(exit->cancelled);
}

// A second process swaps a directory for a link while jails are built: whatever a jail shows is the directory or
// nothing.
TEST(Many, ASourceThatIsSwappedForALinkIsNeverFollowed) {
  JailRunner runner;
  const TemporaryDirectory workspace;
  const TemporaryDirectory outside;
  const std::string& root = workspace.path();
  std::ofstream(outside.path() + "/secret") << "secret";
  std::filesystem::create_directories(root + "/a/inner");
  std::filesystem::create_directories(root + "/b");
  std::filesystem::create_directory_symlink(outside.path(), root + "/b/inner");
  const pid_t swapper = ::fork();
  if (swapper == 0) {
    const std::string a = root + "/a";
    const std::string b = root + "/b";
    for (;;) ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), 2 /* RENAME_EXCHANGE */);
  }
  int shown = 0;
  for (int i = 0; i < 60; ++i) {
    ExecRequest request = JailRunner::shell("cat a/inner/secret b/inner/secret 2>/dev/null; exit 0", root);
    request.policy.mounts = {{root + "/a/inner", Access::kReadOnly, true}};
    const Outcome outcome = runner.run(std::move(request));
    if (outcome.exit) ++shown;
    EXPECT_EQ(outcome.out.find("secret"), std::string::npos);
  }
  ::kill(swapper, SIGKILL);
  ::waitpid(swapper, nullptr, 0);
  EXPECT_GT(shown, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(outside.path()), {}), 1);
}

}  // namespace
}  // namespace loom::helper::test
