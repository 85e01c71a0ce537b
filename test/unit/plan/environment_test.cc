#include "plan/environment.h"

#include <gtest/gtest.h>

#include "test/support/fake_tree.h"

namespace loom {
namespace {

class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest() {
    tree.system();
    for (const char* path : {"/usr/local/bin", "/opt/tool/bin", "/ws/bin", "/home/u/bin", "/srv"}) tree.directory(path);
    policy.writable_roots = {"/ws"};
    policy.env_allow = {"PATH", "HOME", "LANG"};
  }

  Environment build() {
    const HostFacts host = tree.facts();
    const auto plan = mount_plan(policy, host);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return plan ? build_environment(policy, *plan, host, request) : Environment{};
  }
  std::string variable(const std::string& name) {
    const auto made = build().variables;
    const auto found = made.find(name);
    return found == made.end() ? "(unset)" : found->second;
  }

  test::FakeTree tree;
  Policy policy;
  EnvironmentRequest request;
};

TEST_F(EnvironmentTest, NamesOutsideTheListAreDropped) {
  request.requested = {{"LANG", "C.UTF-8"}, {"SECRET", "s"}, {"lang", "x"}};
  EXPECT_EQ(variable("LANG"), "C.UTF-8");
  EXPECT_EQ(variable("SECRET"), "(unset)");
  EXPECT_EQ(variable("lang"), "(unset)");
}

TEST_F(EnvironmentTest, WithNothingAskedThereIsPathHomeAndTheScratch) {
  const std::map<std::string, std::string> expected = {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", "/tmp"}, {"LOOM_SCRATCH_DIR", "/tmp"}};
  EXPECT_EQ(build().variables, expected);
}

TEST_F(EnvironmentTest, PathIsRequestedThenTheHelpersThenTheSystemsOnceEach) {
  request.requested = {{"PATH", "/opt/tool/bin:/usr/bin"}};
  request.helper_path = "/usr/sbin:/opt/tool/bin:/bin";
  EXPECT_EQ(variable("PATH"), "/opt/tool/bin:/usr/bin:/usr/sbin:/bin:/usr/local/bin");
  EXPECT_EQ(build().search_path.front(), "/opt/tool/bin");
}

TEST_F(EnvironmentTest, PathHoldsNoDirectoryThatTheJailMayWrite) {
  request.requested = {{"PATH", "/ws/bin:/tmp:/ws:/opt/tool/bin"}};
  EXPECT_EQ(variable("PATH"), "/opt/tool/bin:/usr/local/bin:/usr/bin:/bin");
  policy.frozen = {"/ws/bin"};
  EXPECT_EQ(variable("PATH").substr(0, 8), "/ws/bin:") << "a frozen directory cannot be written";
}

TEST_F(EnvironmentTest, PathHoldsOnlyAbsoluteDirectoriesThatExistInTheView) {
  tree.file("/opt/file");
  request.requested = {{"PATH", ":.:bin:../x:/opt/../opt/tool/bin:/opt/none:/opt/file:/home/u/bin:/srv:"}};
  EXPECT_EQ(variable("PATH"), "/usr/local/bin:/usr/bin:/bin");
}

TEST_F(EnvironmentTest, PathHoldsNoDirectoryThatALinkOfTheWorkspaceLeadsTo) {
  tree.link("/opt/turn", "/ws/link");
  tree.link("/ws/link", "/opt/tool/bin");
  request.requested = {{"PATH", "/opt/turn:/ws/link"}};
  EXPECT_EQ(variable("PATH"), "/usr/local/bin:/usr/bin:/bin");
}

TEST_F(EnvironmentTest, OneDirectoryWrittenInSeveralWaysStandsOnce) {
  request.requested = {{"PATH", "/opt/tool/bin/:/opt//tool/./bin"}};
  EXPECT_EQ(variable("PATH"), "/opt/tool/bin:/usr/local/bin:/usr/bin:/bin");
}

TEST_F(EnvironmentTest, APathThatIsNotAllowedIsTheSystems) {
  policy.env_allow = {};
  request.requested = {{"PATH", "/opt/tool/bin"}};
  request.helper_path = "/usr/sbin";
  EXPECT_EQ(variable("PATH"), "/usr/local/bin:/usr/bin:/bin");
}

TEST_F(EnvironmentTest, HomeIsKeptWhereItLiesInTheView) {
  request.requested = {{"HOME", "/ws"}};
  EXPECT_EQ(variable("HOME"), "/ws");
  request.requested = {{"HOME", "/home/u"}};
  EXPECT_EQ(variable("HOME"), "/tmp");
  request.requested = {{"HOME", "relative"}};
  EXPECT_EQ(variable("HOME"), "/tmp");
  policy.readable_roots = {"/home/u"};
  policy.protected_paths = {"/home/u"};
  request.requested = {{"HOME", "/home/u"}};
  EXPECT_EQ(variable("HOME"), "/tmp") << "hidden by a mask";
}

TEST_F(EnvironmentTest, ScratchOnTheHostIsNamedAndIsTheFallbackOfHome) {
  policy.scratch.host_path = "/srv";
  EXPECT_EQ(variable("LOOM_SCRATCH_DIR"), "/srv");
  EXPECT_EQ(variable("HOME"), "/srv");
}

TEST_F(EnvironmentTest, LoomsOwnNamesCannotBeSetByTheCallerEvenWhenAllowed) {
  policy.env_allow = {"LOOM_SCRATCH_DIR", "LOOM_TOKEN"};
  request.requested = {{"LOOM_SCRATCH_DIR", "/evil"}, {"LOOM_TOKEN", "mine"}};
  EXPECT_EQ(variable("LOOM_SCRATCH_DIR"), "/tmp");
  EXPECT_EQ(variable("LOOM_TOKEN"), "(unset)");
  request.ours = {{"LOOM_TOKEN", "theirs"}, {"LOOM_SCRATCH_DIR", "/other"}};
  EXPECT_EQ(variable("LOOM_TOKEN"), "theirs");
  EXPECT_EQ(variable("LOOM_SCRATCH_DIR"), "/tmp");
}

TEST_F(EnvironmentTest, UnderAProxyItsVariablesAreSetInEverySpelling) {
  policy.network.mode = NetworkMode::kProxy;
  policy.env_allow.emplace_back("https_proxy");
  request.requested = {{"https_proxy", "http://evil.test:1"}};
  for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}) {
    EXPECT_EQ(variable(name), "http://127.0.0.1:3128") << name;
  }
  EXPECT_EQ(variable("NO_PROXY"), "localhost,127.0.0.1,::1");
  EXPECT_EQ(variable("no_proxy"), "localhost,127.0.0.1,::1");
  EXPECT_EQ(variable("NODE_USE_ENV_PROXY"), "1");
}

TEST_F(EnvironmentTest, WithoutAProxyACallersOwnProxyVariableIsAsAnyOther) {
  policy.network.mode = NetworkMode::kFull;
  policy.env_allow.emplace_back("https_proxy");
  request.requested = {{"https_proxy", "http://proxy.test:3128"}};
  EXPECT_EQ(variable("https_proxy"), "http://proxy.test:3128");
  EXPECT_EQ(variable("HTTP_PROXY"), "(unset)");
}

}  // namespace
}  // namespace loom
