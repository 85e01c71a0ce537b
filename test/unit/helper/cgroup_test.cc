// The deeds about cgroups on a tree of plain files, for the faults that a real one does not produce; the real one is
// met in the virtual machine (test/vm/cgroup.bats).
#include "helper/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "helper/cgroup_files.h"
#include "jail_runner.h"

namespace loom::helper {
namespace {

namespace fs = std::filesystem;

class FakeCgroups : public testing::Test {
 protected:
  void SetUp() override {
    base.reset(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(base.valid());
  }
  void put(const std::string& file, const std::string& text) {
    fs::create_directories((directory.path() + "/" + file).substr(0, (directory.path() + "/" + file).rfind('/')));
    std::ofstream(directory.path() + "/" + file) << text;
  }
  void put_execution(const std::string& name) {
    put(name + "/cgroup.procs", "41\n42\n");
    put(name + "/memory.max", "4096\n");
    put(name + "/memory.swap.max", "0\n");
    put(name + "/pids.max", "3\n");
    put(name + "/memory.events", "max 9\noom_kill 2\n");
    put(name + "/pids.events", "max 5\n");
    put(name + "/cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
  }
  // Not a file or directory more or less than before, and what is in them.
  std::map<std::string, std::string> whole() {
    std::map<std::string, std::string> seen;
    for (const auto& entry : fs::recursive_directory_iterator(directory.path())) {
      std::ifstream file(entry.path());
      seen[entry.path()] = entry.is_directory() ? "/" : std::string(std::istreambuf_iterator<char>(file), {});
    }
    return seen;
  }
  static Limits limits() {
    Limits asked;
    asked.mem_bytes = 4096;
    asked.pids = 2;
    return asked;
  }

  test::TemporaryDirectory directory;
  UniqueFd base;
};

TEST_F(FakeCgroups, APlainDirectoryWithTheRightFilesIsRefusedAndNotTouched) {
  put("cgroup.type", "domain\n");
  put("cgroup.controllers", "memory pids\n");
  put("cgroup.subtree_control", "");
  put("cgroup.procs", "");
  const auto before = whole();
  const auto found = CgroupBase::find(directory.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "bad_cgroup_base");
  EXPECT_EQ(found.error().where, directory.path());
  EXPECT_NE(found.error().what.find("not on a cgroup v2"), std::string::npos);
  EXPECT_EQ(whole(), before);
}

TEST_F(FakeCgroups, ABaseThatIsNotThereOrIsAFileIsNamed) {
  put("file", "");
  for (const char* name : {"/none", "/file"}) {
    const auto found = CgroupBase::find(directory.path() + name);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().where, directory.path() + name);
  }
}

TEST_F(FakeCgroups, AHelperStartedWithABadBaseSaysSoAndOneThatOnlyLooksSkips) {
  HostOptions options;
  options.stage2 = test::JailRunner::stage2_path();
  options.probe = ProbeWhen::kByTheFirstJail;
  options.cgroup_base = directory.path();
  const auto used = make_host_context(options);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, "bad_cgroup_base");
  EXPECT_NE(used.error().where.find("--cgroup-base"), std::string::npos);
  options.cgroup_use = CgroupUse::kLook;
  const auto looked = make_host_context(options);
  ASSERT_TRUE(looked) << looked.error().text();
  EXPECT_FALSE(looked->cgroups);
  EXPECT_NE(looked->no_cgroup.find(directory.path()), std::string::npos);
}

TEST_F(FakeCgroups, ACeilingThatCannotBeSetLeavesNoDirectoryBehind) {
  const auto before = whole();
  const auto made = Cgroup::make(base.get(), limits(), 1);
  ASSERT_FALSE(made) << "plain directories have no memory.max";
  EXPECT_EQ(made.error().where, "memory.max");
  EXPECT_EQ(whole(), before);
}

TEST_F(FakeCgroups, ANameThatIsTakenIsPassedOver) {
  const std::string own = std::to_string(::getpid());
  put_execution("exec-0-" + own);
  const auto made = Cgroup::make(base.get(), Limits{}, 1);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(fs::exists(directory.path() + "/exec-1-" + own));
}

TEST_F(FakeCgroups, TheDirectoryGoesWithItsOwnerAndTheDeepestFirst) {
  const std::string own = "exec-0-" + std::to_string(::getpid());
  {
    const auto made = Cgroup::make(base.get(), Limits{}, 1);
    ASSERT_TRUE(made);
    fs::create_directories(directory.path() + "/" + own + "/a/b/c");
  }
  EXPECT_FALSE(fs::exists(directory.path() + "/" + own));
}

TEST_F(FakeCgroups, ALinkBelowIsNotFollowedWhenItGoes) {
  put("precious/directory/file", "kept");
  fs::create_directories(directory.path() + "/exec-0-7");
  fs::create_directory_symlink(directory.path() + "/precious", directory.path() + "/exec-0-7/link");
  EXPECT_FALSE(remove_cgroup(base.get(), "exec-0-7"));
  EXPECT_TRUE(fs::exists(directory.path() + "/precious/directory/file"));
}

TEST_F(FakeCgroups, WhatHoldsIsToldAsItIsShown) {
  put_execution("exec-0-7");
  const auto cgroup = Cgroup::adopt(base.get(), "exec-0-7", 1);
  ASSERT_TRUE(cgroup);
  const auto holds = cgroup->verify(41, limits());
  ASSERT_TRUE(holds) << holds.error().text();
  EXPECT_EQ(*holds, "memory.max=4096,memory.swap.max=0,pids.max=3");
  EXPECT_EQ(cgroup->cpu_us(), 1500U);
  EXPECT_EQ(cgroup->events(), (std::vector<std::string>{"oom-kill=2", "pids-max=5"}));
}

TEST_F(FakeCgroups, ACeilingThatDoesNotHoldIsNamed) {
  struct Row {
    const char* file;
    const char* text;
    const char* where;
  };
  for (const Row& row : {Row{"memory.max", "max\n", "memory.max"}, Row{"memory.max", "8192\n", "memory.max"},
                         Row{"memory.swap.max", "max\n", "memory.swap.max"}, Row{"pids.max", "4\n", "pids.max"},
                         Row{"cgroup.procs", "42\n43\n", "cgroup.procs"}, Row{"cgroup.procs", "41\n", "cgroup.procs"},
                         Row{"cgroup.procs", "", "cgroup.procs"}}) {
    put_execution("exec-0-7");
    put(std::string("exec-0-7/") + row.file, row.text);
    const auto cgroup = Cgroup::adopt(base.get(), "exec-0-7", 1);
    ASSERT_TRUE(cgroup);
    const auto holds = cgroup->verify(41, limits());
    ASSERT_FALSE(holds) << row.file << " " << row.text;
    EXPECT_EQ(holds.error().where, row.where);
  }
}

TEST_F(FakeCgroups, AKernelWithoutSwapAccountingIsNoFault) {
  put_execution("exec-0-7");
  fs::remove(directory.path() + "/exec-0-7/memory.swap.max");
  const auto cgroup = Cgroup::adopt(base.get(), "exec-0-7", 1);
  ASSERT_TRUE(cgroup);
  EXPECT_EQ(cgroup->verify(41, limits()).value_or(""), "memory.max=4096,pids.max=3");
}

TEST_F(FakeCgroups, TheSweepTakesOnlyWhatIsEmptyAndOfTheDead) {
  constexpr pid_t kDead = 70;
  const auto make = [&](const std::string& name) { fs::create_directories(directory.path() + "/" + name); };
  make("exec-1-70");
  make("exec-1-80");
  make("somebody-else");
  put("exec-2-70/cgroup.events", "populated 1\n");
  unsigned asked = 0;
  const unsigned removed = sweep_cgroups(base.get(), [&](pid_t pid) {
    ++asked;
    return pid != kDead;
  });
  // Without cgroup.events nothing is known to be empty.
  EXPECT_EQ(removed, 0U);
  EXPECT_EQ(asked, 3U);
  EXPECT_TRUE(fs::exists(directory.path() + "/exec-1-70"));
  EXPECT_TRUE(fs::exists(directory.path() + "/exec-2-70"));
}

TEST(HelperLives, TellsTheDeadFromTheLivingAndItselfFromItsPredecessors) {
  EXPECT_TRUE(helper_lives(::getppid()));
  EXPECT_FALSE(helper_lives(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(helper_lives(child));
}

}  // namespace
}  // namespace loom::helper
