// What keeps a command from starting is told apart, before any output (spec/wire.md "Error codes"), and what it starts
// with.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

class Start : public testing::Test {
 protected:
  std::string code_of(std::vector<std::string> argv) {
    const Outcome outcome = runner.run(JailRunner::request(std::move(argv), workspace.path()));
    EXPECT_FALSE(outcome.exit);
    EXPECT_EQ(outcome.out + outcome.err, "");
    return outcome.error ? outcome.error->code : "";
  }
  std::string file(const std::string& name, const std::string& text, mode_t mode) {
    std::string path = workspace.path() + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  JailRunner runner;
  TemporaryDirectory workspace;
};

TEST_F(Start, EachExecErrorHasItsOwnCode) {
  EXPECT_EQ(code_of({"/usr/bin/no-such-command"}), "exec_not_found");
  EXPECT_EQ(code_of({"no-such-command"}), "exec_not_found");
  EXPECT_EQ(code_of({workspace.path()}), "exec_permission");
  EXPECT_EQ(code_of({file("plain", "#!/bin/sh\n", 0644)}), "exec_permission");
  EXPECT_EQ(code_of({file("script", "#!/no/such/interpreter\n", 0755)}), "exec_interpreter");
  EXPECT_EQ(code_of({file("noise", "no program\n", 0755)}), "exec_format");
  EXPECT_EQ(code_of({"/bin/true", std::string(3U << 20U, 'x')}), "exec_too_big");
  EXPECT_EQ(code_of({""}), "exec_not_found");
}

TEST_F(Start, ALongArgvWithinTheKernelsLimitsRuns) {
  std::vector<std::string> argv{"/bin/sh", "-c", "echo $#", "sh"};
  argv.insert(argv.end(), 15000, std::string(60, 'a'));
  const Outcome outcome = runner.run(JailRunner::request(argv, workspace.path()));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "15000\n");
}

// The kernel's limits: 128 KiB a string with its NUL, and a quarter of the stack limit in all, which the command has
// from whoever started the helper. At each the command runs or is told to be too big, whole.
TEST_F(Start, ArgumentsAtTheKernelsLimitsArriveWholeOrAreTooBig) {
  rlimit given{};
  ASSERT_EQ(::getrlimit(RLIMIT_STACK, &given), 0);
  const rlimit pinned{8U << 20U, given.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_STACK, &pinned), 0);
  constexpr std::size_t kString = 128U << 10U;
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> argv{"/bin/sh", "-c", "for a; do n=$((n + ${#a})); done; echo $# $n", "sh"};
    argv.insert(argv.end(), more.begin(), more.end());
    return runner.run(JailRunner::request(std::move(argv), workspace.path()));
  };
  const Outcome longest = run({std::string(kString - 1, 'a')});
  const Outcome too_long = run({std::string(kString, 'a')});
  const Outcome many = run(std::vector<std::string>(15, std::string(kString - 1, 'b')));
  const Outcome too_many = run(std::vector<std::string>(17, std::string(kString - 1, 'b')));
  ::setrlimit(RLIMIT_STACK, &given);
  ASSERT_TRUE(longest.exit) << longest.why();
  EXPECT_EQ(longest.out, "1 131071\n");
  ASSERT_TRUE(many.exit) << many.why();
  EXPECT_EQ(many.out, "15 1966065\n");
  for (const Outcome* outcome : {&too_long, &too_many}) {
    ASSERT_TRUE(outcome->error);
    EXPECT_EQ(outcome->error->code, "exec_too_big") << outcome->why();
    EXPECT_EQ(outcome->out, "");
  }
}

TEST_F(Start, NamesThatAreNotTextAreRunStartedInAndPassedByteForByte) {
  const std::string name = "\xff\xfe \n\x01prog";
  const std::string path = file(name, "#!/bin/sh\nprintf %s \"$0|$1|$PWD\"\n", 0755);
  const std::string directory = workspace.path() + "/\x80 dir";
  std::filesystem::create_directory(directory);
  ExecRequest request = JailRunner::request({path, "\xc3\x28"}, workspace.path());
  request.cwd = directory;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, path + "|\xc3\x28|" + directory);
}

TEST_F(Start, ADirectoryOutsideTheViewIsBadCwdAndNeverAFallback) {
  ExecRequest request = JailRunner::shell("echo ran", workspace.path());
  request.cwd = "/home";
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "bad_cwd");
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Start, AnAskedForMemoryCeilingThatIsNotHeldRefusesAPlatformDemand) {
  ExecRequest request = JailRunner::shell("echo ran > ran", workspace.path());
  request.policy.limits.mem_bytes = 1U << 30U;
  request.demand = Demand::kPlatform;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "layer_refused");
  EXPECT_NE(outcome.error->text().find("cgroup-v2"), std::string::npos) << outcome.error->text();
  EXPECT_FALSE(std::filesystem::exists(workspace.path() + "/ran"));
}

TEST_F(Start, TheSameCommandRunsByBestEffortAndTheReportSaysWhatIsMissing) {
  ExecRequest request = JailRunner::shell("exit 0", workspace.path());
  request.policy.limits.mem_bytes = 1U << 30U;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("skip:cgroup-v2")) << testing::PrintToString(outcome.exit->enforcement);
}

TEST_F(Start, EveryLayerIsHeldAndWitnessed) {
  ExecRequest request = JailRunner::shell("exit 0", workspace.path());
  request.demand = Demand::kFull;
  request.policy.limits.pids = 50;
  request.policy.limits.cpu_s = 10;
  request.policy.limits.fsize_bytes = 1U << 20U;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  for (const char* name : {"namespaces", "mounts", "unprivileged", "no-new-privs", "landlock", "seccomp-base",
                           "seccomp-net", "pids-userns", "rlimit-cpu", "rlimit-fsize", "rlimit-core"}) {
    EXPECT_TRUE(outcome.reports(name)) << name;
    EXPECT_TRUE(outcome.reports(std::string("verified:") + name)) << name;
  }
}

// The helper's own mask, dispositions and umask must not show inside.
TEST_F(Start, TheCommandStartsWithACleanSlate) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const auto before = std::signal(SIGQUIT, SIG_IGN);
  const mode_t mask = ::umask(0);
  const Outcome outcome =
      runner.run(JailRunner::shell("grep -E '^Sig(Blk|Ign)|^ShdPnd' /proc/self/status | tr -d '0\\t\\n '; umask; "
                                   "ulimit -c; ps -o sid= -p $$ | tr -d ' '; echo $$",
                                   workspace.path()));
  ::umask(mask);
  std::signal(SIGQUIT, before);
  sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "ShdPnd:SigBlk:SigIgn:0022\n0\n2\n2\n");
}

TEST_F(Start, TheTerminalIsTheJailsOwnAndControlsTheCommand) {
  ExecRequest request =
      JailRunner::shell("tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all > /dev/tty", workspace.path());
  request.tty = TtySize{33, 77};
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find("33")), "/dev/pts/0\r\n");
  EXPECT_NE(outcome.out.find("33 77\r\nall\r\n"), std::string::npos) << outcome.out;
}

TEST_F(Start, OutputIsCutAtItsLimitAndTheCommandGoesOn) {
  ExecRequest request = JailRunner::shell("yes | head -c 3000000; echo end > end", workspace.path());
  request.policy.limits.output_bytes = 100000;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out.size(), 100000U);
  EXPECT_EQ(outcome.exit->stdout_bytes, 100000U);
  EXPECT_TRUE(outcome.exit->stdout_truncated);
  EXPECT_TRUE(std::filesystem::exists(workspace.path() + "/end"));
}

TEST_F(Start, OutputThatIsExactlyAsLongAsItsLimitIsNotCalledCut) {
  ExecRequest request = JailRunner::shell("printf 12345", workspace.path());
  request.policy.limits.output_bytes = 5;
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "12345");
  EXPECT_FALSE(outcome.exit->stdout_truncated);
}

TEST_F(Start, StdinArrivesWholeAndItsEndToo) {
  const std::string input(3U << 20U, 'z');
  const Outcome outcome = runner.run(JailRunner::shell("wc -c", workspace.path()), input);
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, std::to_string(input.size()) + "\n");
}

TEST_F(Start, TheStreamsCanBeOpenedAnewByName) {
  const Outcome outcome = runner.run(
      JailRunner::shell("echo a > /dev/stdout; echo b > /dev/stderr; cat /dev/stdin", workspace.path()), "c\n");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "a\nc\n");
  EXPECT_EQ(outcome.err, "b\n");
}

}  // namespace
}  // namespace loom::helper::test
