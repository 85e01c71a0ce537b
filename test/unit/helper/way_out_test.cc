// Network mode "proxy": the bridge, the layer that counts only when the proxy was reached through it, and what the
// command can and cannot do to either (spec/egress.md "How the jail reaches it").
#include <gtest/gtest.h>

#include <csignal>

#include "jail_runner.h"
#include "test/support/stub_proxy.h"

namespace loom::helper::test {
namespace {

using loom::test::StubProxy;

class WayOut : public testing::Test {
 protected:
  static ExecRequest with_proxy(ExecRequest request, const Path& socket) {
    request.policy.network = {NetworkMode::kProxy, {"example.org"}, socket};
    request.demand = Demand::kPlatform;
    return request;
  }
  Outcome shell(const std::string& script, const Path& socket) {
    return runner.run(with_proxy(JailRunner::shell(script, workspace.path()), socket));
  }
  void bring_use_bridge() const { bring("/peers/use_bridge"); }
  void bring_probes() const { bring("/../bin/libexec/loom-probes"); }
  void bring(const std::string& program) const {
    std::filesystem::copy_file(JailRunner::own_directory() + program,
                               workspace.path() + program.substr(program.rfind('/')));
  }
  [[nodiscard]] std::string socket() const { return outside.path() + "/proxy.sock"; }

  JailRunner runner;
  TemporaryDirectory workspace;
  TemporaryDirectory outside;
};

TEST_F(WayOut, TheLayerCountsWhenTheProxyAnsweredThroughTheBridge) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  const Outcome outcome = shell("echo $https_proxy $NO_PROXY", socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("egress-proxy:bridge"));
  EXPECT_TRUE(outcome.reports("verified:egress-proxy"));
  EXPECT_TRUE(outcome.reports("namespaces:net=fresh"));
  EXPECT_EQ(outcome.out, "http://127.0.0.1:3128 localhost,127.0.0.1,::1\n");
}

TEST_F(WayOut, WithoutTheProxysAnswerNothingRuns) {
  for (const auto manner : {StubProxy::Manner::kRefuses, StubProxy::Manner::kHangsUp}) {
    const StubProxy proxy(socket(), manner);
    const Outcome outcome = shell("echo ran > ran", socket());
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code, "layer_refused");
    EXPECT_NE(outcome.error->what.find("skip:egress-proxy: the proxy did not answer 204"), std::string::npos)
        << outcome.why();
  }
  EXPECT_FALSE(std::filesystem::exists(workspace.path() + "/ran"));
}

TEST_F(WayOut, ASocketThatNobodyListensOnIsALayerThatIsMissing) {
  {
    StubProxy proxy(socket(), StubProxy::Manner::kReady);
    proxy.end();
  }
  const Outcome outcome = shell("true", socket());
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "layer_refused");
}

TEST_F(WayOut, ASocketThatIsNotThereIsAMissingPathAndNamed) {
  const Outcome outcome = shell("true", socket());
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "missing_path");
  EXPECT_NE(outcome.error->text().find(socket()), std::string::npos);
}

TEST_F(WayOut, WithoutANamedSocketThereIsNoBridgeAndTheReasonIsSaid) {
  const Outcome strict = shell("true", "");
  ASSERT_TRUE(strict.error);
  EXPECT_EQ(strict.error->code, "layer_refused");
  ExecRequest request = with_proxy(JailRunner::shell("ls /proc", workspace.path()), "");
  request.demand = Demand::kBestEffort;
  const Outcome loose = runner.run(std::move(request));
  ASSERT_TRUE(loose.exit) << loose.why();
  EXPECT_TRUE(loose.reports("skip:egress-proxy")) << loose.why();
}

TEST_F(WayOut, TheBridgeIsNotTheCommandsToEndOrToSee) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  bring_probes();
  bring_use_bridge();
  const Outcome outcome = shell("./loom-probes attack-bridge 77 .; ./use_bridge echo 1 1000", socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out.find("! "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("+ seeing that it is there\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("end 77\nall came back\n"), std::string::npos) << outcome.out;
}

// Init wears no filter while it watches the command's calls: the bridge has one of its own.
TEST_F(WayOut, UnderWhyTheBridgeIsThereAndFiltered) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  ExecRequest request = with_proxy(
      JailRunner::shell("grep ^Seccomp: /proc/2/status; kill -9 2 || grep ^Name: /proc/2/status", workspace.path()),
      socket());
  request.why = *parse_why("calls");
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("verified:egress-proxy"));
  EXPECT_EQ(outcome.out, "Seccomp:\t2\nName:\tloom-bridge\n") << outcome.err;
}

// What newer kernels keep from the command altogether (Landlock's ABI 6) ends the bridge on older ones: the way out is
// closed then, never opened.
TEST_F(WayOut, ASignalToAllDoesNotReachTheBridge) {
  if (runner.host.landlock_abi < 6) GTEST_SKIP() << "this kernel's Landlock does not scope signals";
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  bring_use_bridge();
  const Outcome outcome = shell("kill -9 -1; ./use_bridge echo 1 1000", socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "all came back\n");
}

TEST_F(WayOut, ItCopiesBothWaysAndKeepsHalfClosesWithManyConnectionsAtOnce) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  bring_use_bridge();
  const Outcome outcome = shell("./use_bridge echo 1 5000000; ./use_bridge echo 40 100000", socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "all came back\nall came back\n");
}

// More than it holds at once, within few descriptors: those that wait have their turn.
TEST_F(WayOut, MoreConnectionsThanTheBridgeHoldsWaitForTheirTurn) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  bring_use_bridge();
  const Outcome outcome = shell("for i in 1 2 3 4 5 6; do ./use_bridge echo 60 100 & done; wait", socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "all came back\nall came back\nall came back\nall came back\nall came back\nall came back\n");
}

TEST_F(WayOut, NothingElseIsReachable) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  bring_use_bridge();
  const Outcome outcome =
      shell("./use_bridge reach 127.0.0.1 3129; ./use_bridge reach 192.0.2.1 443; ./use_bridge reach 192.0.2.1 3128",
            socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  const bool closed = runner.host.landlock_abi >= 4;  // TCP ports are Landlock's to close
  EXPECT_EQ(outcome.out, closed ? "Permission denied\nPermission denied\nNetwork is unreachable\n"
                                : "Connection refused\nNetwork is unreachable\nNetwork is unreachable\n");
}

TEST_F(WayOut, TheBridgeIsNoDescendantAndDoesNotHoldTheEnd) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  const Outcome outcome = shell("true", socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_FALSE(outcome.reports("event:descendants-killed"));
  const Outcome left = shell("sleep 1000 & sleep 1000 & true", socket());
  ASSERT_TRUE(left.exit) << left.why();
  EXPECT_FALSE(left.reports("event:descendants-killed")) << "TERM ends a sleep";
  const Outcome stubborn = shell("trap '' TERM; sleep 1000 & true", socket());
  ASSERT_TRUE(stubborn.exit) << stubborn.why();
  EXPECT_TRUE(stubborn.reports("event:descendants-killed=1"));
}

// Processes of ours below this one, living ones.
std::vector<pid_t> of_jails() {
  std::vector<pid_t> found;
  for (const pid_t pid : processes_of_init_below(::getpid())) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    stat >> number >> name >> state;
    if (name.rfind("(loom-", 0) == 0 && state != "Z") found.push_back(pid);
  }
  return found;
}

TEST_F(WayOut, ACancelEndsItAll) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  std::size_t running = 0;
  runner.on_output = [&](Execution& execution, const Outcome&) {
    running = of_jails().size();
    execution.cancel();
  };
  const Outcome outcome = shell("echo up; sleep 1000", socket());
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.exit->signal, SIGTERM);
  EXPECT_GE(running, 2U) << "init and the bridge";
  EXPECT_EQ(of_jails().size(), 0U);
}

TEST_F(WayOut, TheLimitOfProcessesIsTheCommandsAlone) {
  const StubProxy proxy(socket(), StubProxy::Manner::kReady);
  ExecRequest request = with_proxy(
      JailRunner::shell("sleep 9 & sleep 9 & sleep 9 & echo three; sleep 9 & echo four", workspace.path()), socket());
  request.policy.limits.pids = 4;  // the shell and three
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "three\n") << outcome.err;
}

// As a broker's own socket lies: below the directory that every jail is kept from.
TEST_F(WayOut, ASocketBelowAProtectedDirectoryIsAllThatIsSeenOfIt) {
  // Not below /tmp, where the jail has a tree of its own.
  std::string name = "/var/tmp/loom-test-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  std::filesystem::create_directory(name + "/jail-1");
  std::ofstream(name + "/broker.sock") << "";
  std::ofstream(name + "/jail-1/other.sock") << "";
  const std::string inner = name + "/jail-1/proxy.sock";
  const StubProxy proxy(inner, StubProxy::Manner::kReady);
  for (const std::vector<Path>& readable : {std::vector<Path>{workspace.path()}, std::vector<Path>{"/"}}) {
    ExecRequest request = with_proxy(JailRunner::shell("cd " + name + "; find . | sort", workspace.path()), inner);
    request.policy.readable_roots = readable;
    request.policy.protected_paths = {name};
    const Outcome outcome = runner.run(std::move(request));
    EXPECT_TRUE(outcome.exit) << outcome.why();
    EXPECT_TRUE(outcome.reports("verified:egress-proxy"));
    EXPECT_TRUE(outcome.reports("verified:mounts"));
    EXPECT_EQ(outcome.out, ".\n./jail-1\n./jail-1/proxy.sock\n") << outcome.err;
  }
  std::filesystem::remove_all(name);
}

TEST_F(WayOut, WithoutTheBridgesProgramItsLayerIsSkippedAndTheRestServes) {
  HostOptions options;
  options.stage2 = JailRunner::stage2_path();
  options.bridge = "/nowhere/loom-bridge";
  auto made = make_host_context(options);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_NE(std::find(made->features.begin(), made->features.end(),
                      "skip:egress-proxy: /nowhere/loom-bridge: cannot open loom-bridge: No such file or directory"),
            made->features.end());
}

}  // namespace
}  // namespace loom::helper::test
