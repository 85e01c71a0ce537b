// The probes: one misdeed each, tried by the same path as a real command. A probe prints what worked, and a line that
// shows that it ran.
#include <gtest/gtest.h>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

class Misdeed : public testing::Test {
 protected:
  std::string tried(const std::string& probe, NetworkMode network = NetworkMode::kOff) {
    const std::string program = JailRunner::own_directory() + "/../probes/" + probe;
    std::filesystem::copy_file(program, workspace.path() + "/" + probe);
    ExecRequest request = JailRunner::request({"./" + probe}, workspace.path());
    request.policy.network.mode = network;
    request.demand = Demand::kFull;
    const Outcome outcome = runner.run(std::move(request));
    EXPECT_TRUE(outcome.exit) << outcome.why();
    std::filesystem::remove(workspace.path() + "/" + probe);
    return outcome.out;
  }
  JailRunner runner;
  TemporaryDirectory workspace;
};

TEST_F(Misdeed, NoCallMakesASetIdFile) {
  EXPECT_EQ(tried("plant_setid"), "plain\n");
  for (const auto& entry : std::filesystem::directory_iterator(workspace.path())) {
    struct stat facts {};
    ::stat(entry.path().c_str(), &facts);
    EXPECT_EQ(facts.st_mode & (S_ISUID | S_ISGID), 0U) << entry.path();
  }
}

TEST_F(Misdeed, WithoutANetworkOnlyLocalSocketsCanBeMade) {
  EXPECT_EQ(tried("open_sockets"), "family 1\n");
}

TEST_F(Misdeed, WithTheFullNetworkTheInternetFamiliesAndRoutesAreAddedAndNothingElse) {
  EXPECT_EQ(tried("open_sockets", NetworkMode::kFull), "family 1\nfamily 2\nfamily 10\nfamily 16\nhigh bits\n");
}

TEST_F(Misdeed, InitCannotBeEndedStarvedTracedOrRead) {
  EXPECT_EQ(tried("attack_init"), "still here\n");
}

TEST_F(Misdeed, NoRightThatWasTakenComesBack) {
  EXPECT_EQ(tried("seek_privilege"), "nothing more\n");
}

}  // namespace
}  // namespace loom::helper::test
