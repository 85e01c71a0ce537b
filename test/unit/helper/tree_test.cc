// What the command sees of the file tree, and what it cannot do to it (spec/jail.md "The plan").
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Tree : public testing::Test {
 protected:
  Outcome run(const std::string& script) {
    ExecRequest request = JailRunner::shell(script, root);
    request.policy.frozen = frozen;
    request.policy.protected_paths = hidden;
    request.policy.mounts = mounts;
    request.demand = demand;
    return runner.run(std::move(request));
  }
  JailRunner runner;
  TemporaryDirectory workspace;
  std::string root = workspace.path();
  std::vector<Path> frozen, hidden;
  std::vector<Mount> mounts;
  Demand demand = Demand::kPlatform;
};

TEST_F(Tree, OutsideTheRootsNothingOfTheHostIsThere) {
  const Outcome outcome =
      run("for d in /home /root /var /srv /mnt /sys /boot /run; do test -e $d && echo $d; done; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Tree, TheBaseViewAndTheRootAreReadOnly) {
  const Outcome outcome =
      run("for d in / /usr /etc /dev /proc/sys/kernel; do touch $d/x && echo $d; done 2>/dev/null; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Tree, AFrozenEntryIsReadableAndStaysAsItIsHoweverItIsTried) {
  put(root + "/.git/hooks/pre-commit", "ours");
  frozen = {root + "/.git/hooks"};
  const Outcome outcome =
      run("cat .git/hooks/pre-commit\n"
          "(echo theirs > .git/hooks/pre-commit; rm -rf .git/hooks; mv .git .moved; mv .git/hooks h; ln -sf x "
          ".git/hooks/new;\n"
          " chmod 777 .git/hooks/pre-commit; ln .git/hooks/pre-commit alias) 2>/dev/null; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "ours");
  EXPECT_EQ(text_of(root + "/.git/hooks/pre-commit"), "ours");
  EXPECT_FALSE(fs::exists(root + "/alias"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root + "/.git/hooks"), {}), 1);
  EXPECT_TRUE(outcome.reports("mounts:ro=0,rw=1,frozen=1,mask=0,pin=1,bind_ro=0,bind_rw=0"))
      << testing::PrintToString(outcome.exit->enforcement);
}

TEST_F(Tree, AProtectedFileAndDirectoryCannotBeReadReplacedOrRenamedAway) {
  put(root + "/.env", "secret");
  put(root + "/keys/id", "secret");
  hidden = {root + "/.env", root + "/keys"};
  const Outcome outcome =
      run("(cat .env; cat keys/id; ls keys; mv .env a; mv keys b; rm -f .env; rm -rf keys; ln .env c; echo x > .env; "
          "cp .env d)"
          " 2>/dev/null; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(text_of(root + "/.env"), "secret");
  EXPECT_EQ(text_of(root + "/keys/id"), "secret");
}

TEST_F(Tree, ALinkThatIsProtectedHidesItsTargetAndCannotBeReplaced) {
  put(root + "/real/token", "secret");
  fs::create_directory_symlink("real", root + "/link");
  hidden = {root + "/link"};
  const Outcome outcome = run("(cat real/token link/token; rm link; mv link x; mv real y) 2>/dev/null; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(fs::is_symlink(root + "/link"));
  EXPECT_EQ(text_of(root + "/real/token"), "secret");
}

TEST_F(Tree, ALinkInsideTheWorkspaceIsNoSource) {
  const TemporaryDirectory outside;
  put(outside.path() + "/secret", "secret");
  fs::create_directory_symlink(outside.path(), root + "/planted");
  mounts = {{root + "/planted", Access::kReadOnly, true}};
  const Outcome outcome = run("cat planted/secret");
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "plan_refused");
  EXPECT_EQ(outcome.error->what.rfind("source_through_link", 0), 0U) << outcome.error->text();
}

TEST_F(Tree, ADanglingLinkPlantedAsADestinationCreatesNothingOnTheHost) {
  const TemporaryDirectory outside;
  fs::create_symlink(outside.path() + "/made", root + "/.env");
  fs::create_symlink("/proc/self/root" + outside.path() + "/made2", root + "/.envrc");
  hidden = {root + "/.env", root + "/.envrc"};
  const Outcome outcome = run("exit 0");
  EXPECT_TRUE(outcome.exit || outcome.error);
  EXPECT_TRUE(fs::is_empty(outside.path()));
}

TEST_F(Tree, AHardLinkOfAProtectedFileIsAnEventAndAFullDemandRefuses) {
  put(root + "/.env", "secret");
  fs::create_hard_link(root + "/.env", root + "/alias");
  hidden = {root + "/.env"};
  demand = Demand::kBestEffort;
  const Outcome said = run("exit 0");
  ASSERT_TRUE(said.exit) << said.why();
  EXPECT_TRUE(said.reports("event:hardlink-alias=" + root + "/.env"));
  demand = Demand::kFull;
  const Outcome refused = run("echo ran > ran");
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, "layer_refused");
  EXPECT_FALSE(fs::exists(root + "/ran"));
}

TEST_F(Tree, AMissingWritableRootAndARequiredMountAreRefusedByName) {
  ExecRequest request = JailRunner::shell("exit 0", root);
  request.policy.writable_roots.push_back(root + "/absent");
  const Outcome writable = runner.run(std::move(request));
  ASSERT_TRUE(writable.error);
  EXPECT_EQ(writable.error->code, "missing_path");
  EXPECT_NE(writable.error->text().find(root + "/absent"), std::string::npos);
  mounts = {{root + "/gone", Access::kReadOnly, true}};
  const Outcome mount = run("exit 0");
  ASSERT_TRUE(mount.error);
  EXPECT_EQ(mount.error->code, "missing_path");
}

TEST_F(Tree, NamesThatAreNotTextWorkByteForByte) {
  const std::string name = root + "/\xff\xfe dir";
  put(name + "/f", "x");
  hidden = {name + "/f"};
  frozen = {name};
  const Outcome outcome = run("cat *dir/f 2>/dev/null; echo y > *dir/new; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(name + "/new"));
}

TEST_F(Tree, TheScratchIsTheJailsOwnAndGoesWithIt) {
  const std::string mark = "/tmp/loom-mark-" + std::to_string(::getpid());
  const Outcome outcome =
      run("echo $LOOM_SCRATCH_DIR; touch " + mark + " /dev/shm/m && df -P /tmp | tail -1 | cut -d' ' -f1");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.exit->code, 0);
  EXPECT_FALSE(fs::exists(mark));
}

TEST_F(Tree, AReadableRootOfEverythingIsTheHostViewReadOnlyWithItsOwnProcAndDev) {
  ExecRequest request = JailRunner::shell(
      "test -d /sys/kernel && echo view; touch /home/x; ls /proc | grep -cE '^[0-9]+$'; echo ok > in", root);
  request.policy.readable_roots = {"/"};
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out.substr(0, 5), "view\n");
  EXPECT_LT(std::stoi(outcome.out.substr(5)), 7);
  EXPECT_FALSE(fs::exists("/home/x"));
  EXPECT_EQ(text_of(root + "/in"), "ok\n");
}

TEST_F(Tree, TenThousandPathsStart) {
  for (int i = 0; i < 10000; ++i) hidden.push_back(root + "/d/f" + std::to_string(i));
  fs::create_directories(root + "/d");
  for (int i = 0; i < 200; ++i) put(hidden[i], "x");
  const Outcome outcome = run("cat d/f7 2>/dev/null; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "");
}

// Each takes a mount of its own, and so does the directory above it; root holds all of them open at once.
TEST_F(Tree, MorePathsStartThanTheCommandMayOpenFiles) {
  rlimit given{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &given), 0);
  const rlimit few{200, given.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int i = 0; i < 300; ++i) {
    fs::create_directories(root + "/d" + std::to_string(i));
    frozen.push_back(root + "/d" + std::to_string(i) + "/f");
    put(frozen.back(), "x");
  }
  const Outcome outcome = run("ulimit -n; echo y > d7/f; cat d7/f");
  ::setrlimit(RLIMIT_NOFILE, &given);
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "200\nx");
}

}  // namespace
}  // namespace loom::helper::test
