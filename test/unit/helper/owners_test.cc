// Trees of several owners and mounts whose owners cannot be mapped, when root starts the jail (spec/jail.md "Started by
// root"). Mounts are made in a mount namespace of the test's own.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOwner = 4321;
constexpr uid_t kUnmapped = 70000;

void put(const std::string& path, uid_t owner, mode_t mode) {
  std::ofstream(path) << "text";
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
}

uid_t owner_of(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
  return facts.st_uid;
}

class Owners : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root maps owners";
    ASSERT_EQ(::chown(root.c_str(), kOwner, kOwner), 0);
  }
  Outcome run(const std::string& script) {
    ExecRequest request = JailRunner::shell(script, root);
    request.policy.protected_paths = hidden;
    request.policy.mounts = mounts;
    return runner.run(std::move(request));
  }
  JailRunner runner;
  TemporaryDirectory workspace;
  std::string root = workspace.path();
  std::vector<Path> hidden;
  std::vector<Mount> mounts;
};

TEST_F(Owners, EachIsWhoItWasButForTheSwapAndNobodyPastTheBlockIsAnybody) {
  put(root + "/own", kOwner, 0600);
  put(root + "/thousand", kJailUser, 0644);
  put(root + "/roots", 0, 0600);
  put(root + "/other", 5000, 0666);
  put(root + "/far", kUnmapped, 0666);
  const Outcome outcome = run(
      "stat -c '%n %u' own thousand roots other far; for f in own thousand roots other far; do (echo x >>$f) "
      "2>/dev/null && echo "
      "wrote $f; done; cat roots 2>/dev/null; touch made; mkdir dir; mv own renamed; chown 0 made 2>/dev/null; exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "own 1000\nthousand 4321\nroots 0\nother 5000\nfar 65534\nwrote own\nwrote other\n");
  EXPECT_EQ(owner_of(root + "/made"), kOwner);
  EXPECT_EQ(owner_of(root + "/dir"), kOwner);
  EXPECT_EQ(owner_of(root + "/renamed"), kOwner);
}

TEST_F(Owners, ARootOfAnotherOwnerGoesByItsModeBitsAndIsSaid) {
  const TemporaryDirectory second;
  put(second.path() + "/f", 5000, 0644);
  ASSERT_EQ(::chmod(second.path().c_str(), 0755), 0);
  ASSERT_EQ(::chown(second.path().c_str(), 5000, 5000), 0);
  ExecRequest request =
      JailRunner::shell("cat " + second.path() + "/f; touch " + second.path() + "/x 2>/dev/null; exit 0", root);
  request.policy.writable_roots.push_back(second.path());
  const Outcome outcome = runner.run(std::move(request));
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "text");
  EXPECT_TRUE(outcome.reports("event:foreign-owner=" + second.path()));
  EXPECT_FALSE(fs::exists(second.path() + "/x"));
}

// Runs in a process with mounts of its own; what EXPECT finds there becomes its status.
template <class Body>
void with_own_mounts(Body body) {
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(77);
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Owners, AMountThatCannotBeMappedIsLeftOutAndSaidAndRefusedWhenThePolicyNamesIt) {
  for (const char* name : {"/proc", "/tmpfs", "/overlay", "/low", "/up", "/work"}) fs::create_directory(root + name);
  put(root + "/low/secret", 0, 0644);
  with_own_mounts([&] {
    const std::string layers = "lowerdir=" + root + "/low,upperdir=" + root + "/up,workdir=" + root + "/work";
    ASSERT_EQ(::mount("proc", (root + "/proc").c_str(), "proc", 0, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", (root + "/tmpfs").c_str(), "tmpfs", 0, nullptr), 0);
    const bool overlay = ::mount("overlay", (root + "/overlay").c_str(), "overlay", 0, layers.c_str()) == 0;
    put(root + "/tmpfs/f", kOwner, 0600);
    const Outcome outcome = run("cat tmpfs/f; ls -A proc overlay");
    ASSERT_TRUE(outcome.exit) << outcome.why();
    EXPECT_EQ(outcome.out, "textoverlay:\n\nproc:\n");
    EXPECT_TRUE(outcome.reports("event:submount-left-out=" + root + "/proc"))
        << testing::PrintToString(outcome.exit->enforcement);
    EXPECT_EQ(outcome.reports("event:submount-left-out=" + root + "/overlay"), overlay);
    EXPECT_FALSE(outcome.reports("event:submount-left-out=" + root + "/tmpfs"));
    mounts = {{root + "/proc", Access::kReadOnly, true}};
    const Outcome named = run("echo ran >ran");
    ASSERT_TRUE(named.error);
    EXPECT_EQ(named.error->code, "plan_refused");
    EXPECT_NE(named.error->text().find("cannot_idmap"), std::string::npos) << named.why();
    EXPECT_NE(named.error->text().find(root + "/proc"), std::string::npos) << named.why();
    EXPECT_FALSE(fs::exists(root + "/ran"));
  });
}

TEST_F(Owners, ARootThatCannotBeMappedIsRefusedByName) {
  fs::create_directory(root + "/proc");
  with_own_mounts([&] {
    ASSERT_EQ(::mount("proc", (root + "/proc").c_str(), "proc", 0, nullptr), 0);
    ExecRequest request = JailRunner::shell("exit 0", root);
    request.policy.readable_roots = {root + "/proc/sys"};
    request.policy.writable_roots = {root};
    request.policy.readable_roots = {};
    request.policy.writable_roots.push_back(root + "/proc/sys");
    const Outcome outcome = runner.run(std::move(request));
    ASSERT_TRUE(outcome.error);
    EXPECT_NE(outcome.error->text().find("cannot_idmap: writable_roots[1]"), std::string::npos) << outcome.why();
  });
}

TEST_F(Owners, AProtectedEntryBelowAMountThatIsLeftOutIsNotShownEither) {
  fs::create_directory(root + "/proc");
  with_own_mounts([&] {
    ASSERT_EQ(::mount("proc", (root + "/proc").c_str(), "proc", 0, nullptr), 0);
    hidden = {root + "/proc/version"};
    const Outcome outcome = run("cat proc/version");
    EXPECT_EQ(outcome.out, "");
  });
}

}  // namespace
}  // namespace loom::helper::test
