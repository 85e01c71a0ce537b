// Every decision about cgroup v2, as tables (spec/jail.md "cgroup v2").
#include "helper/cgroup_rules.h"

#include <gtest/gtest.h>

#include <functional>

namespace loom::helper {
namespace {

CgroupBaseFacts sound() {
  CgroupBaseFacts facts;
  facts.is_cgroup2 = true;
  facts.type = "domain\n";
  facts.controllers = "cpuset cpu io memory hugetlb pids rdma\n";
  facts.enabled = "";
  facts.processes = "";
  facts.may_make = facts.may_enable = facts.may_enter = true;
  return facts;
}

TEST(CgroupBaseRules, AnEmptyDelegatedDomainWillDo) {
  EXPECT_EQ(judge_cgroup_base(sound()), "");
}

TEST(CgroupBaseRules, TheRootOfAllHasNoTypeAndWillDoWithoutProcesses) {
  CgroupBaseFacts facts = sound();
  facts.type.reset();
  EXPECT_EQ(judge_cgroup_base(facts), "");
}

TEST(CgroupBaseRules, EachFaultIsNamed) {
  struct Row {
    std::function<void(CgroupBaseFacts&)> fault;
    const char* says;
  };
  const Row rows[] = {
      {[](auto& f) { f.is_cgroup2 = false; }, "not on a cgroup v2"},
      {[](auto& f) { f.controllers.reset(); }, "has not the files"},
      {[](auto& f) { f.enabled.reset(); }, "has not the files"},
      {[](auto& f) { f.processes.reset(); }, "has not the files"},
      // The kernel does not list the processes of a threaded one.
      {[](auto& f) { f.type = "threaded\n", f.processes.reset(); }, "cgroup.type"},
      {[](auto& f) { f.type = "domain threaded\n"; }, "cgroup.type"},
      {[](auto& f) { f.type = "domain invalid\n"; }, "cgroup.type"},
      {[](auto& f) { f.controllers = "cpu io\n"; }, "no memory and pids controller"},
      {[](auto& f) { f.controllers = "memory\n"; }, "no pids controller"},
      {[](auto& f) { f.controllers = "pids memoryish\n"; }, "no memory controller"},
      {[](auto& f) { f.processes = "17\n"; }, "holds processes"},
      {[](auto& f) { f.may_make = false; }, "no directory can be made"},
      {[](auto& f) { f.may_enable = false; }, "cgroup.subtree_control cannot be written"},
      {[](auto& f) { f.may_enter = false; }, "cannot be entered"},
  };
  for (const Row& row : rows) {
    CgroupBaseFacts facts = sound();
    row.fault(facts);
    EXPECT_NE(judge_cgroup_base(facts).find(row.says), std::string::npos)
        << row.says << ": " << judge_cgroup_base(facts);
  }
}

// The kernel's word comes first: a directory that only has the right files in it is never believed.
TEST(CgroupBaseRules, ADirectoryWithTextFilesInItIsRefusedHoweverRightTheyAre) {
  CgroupBaseFacts facts = sound();
  facts.is_cgroup2 = false;
  EXPECT_EQ(judge_cgroup_base(facts), "is not on a cgroup v2 file system");
}

TEST(CgroupBaseRules, WhatIsOnAlreadyNeedsNoRightToSwitchItOn) {
  CgroupBaseFacts facts = sound();
  facts.may_enable = false;
  facts.enabled = "memory pids\n";
  EXPECT_EQ(judge_cgroup_base(facts), "");
}

TEST(CgroupBaseRules, OnlyWhatIsMissingIsEnabled) {
  EXPECT_EQ(controllers_to_enable(""), "+memory +pids");
  EXPECT_EQ(controllers_to_enable("cpu pids\n"), "+memory");
  EXPECT_EQ(controllers_to_enable("memory io\n"), "+pids");
  EXPECT_EQ(controllers_to_enable("pids memory\n"), "");
}

TEST(CgroupSettings, AreThoseOfTheCeilingsThatWereAskedFor) {
  Limits limits;
  EXPECT_TRUE(cgroup_settings(limits, 1).empty());
  EXPECT_FALSE(wants_cgroup(limits));
  limits.cpu_s = 1;
  EXPECT_TRUE(cgroup_settings(limits, 1).empty());
  EXPECT_TRUE(wants_cgroup(limits));
  limits.mem_bytes = 1U << 20U;
  limits.pids = 7;
  const std::vector<CgroupSetting> wanted = {
      {"memory.max", "1048576"}, {"memory.swap.max", "0", true}, {"pids.max", "8"}};
  EXPECT_EQ(cgroup_settings(limits, 1), wanted);
  EXPECT_EQ(cgroup_ceilings(limits), (std::vector<std::string>{"mem_bytes", "pids"}));
}

TEST(CgroupSettings, WhatTheJailItselfIsMadeOfIsNotCounted) {
  Limits limits;
  limits.pids = 7;
  EXPECT_EQ(cgroup_settings(limits, 3).front().value, "10");
}

TEST(CgroupSettings, MoreProcessesThanAKernelCanHaveIsWhatItCanHave) {
  Limits limits;
  limits.pids = ~std::uint64_t{0};
  EXPECT_EQ(cgroup_settings(limits, 1).front().value, "4194304");
}

TEST(CgroupSettings, HoldWhenTheKernelShowsNoMoreThanWasAsked) {
  constexpr std::uint64_t kPage = 4096;
  EXPECT_TRUE(setting_holds("50000000", "49999872\n", kPage));
  EXPECT_TRUE(setting_holds("8", "8\n", kPage));
  EXPECT_TRUE(setting_holds("0", "0\n", kPage));
  EXPECT_TRUE(setting_holds("9223372036854775807", "max\n", kPage));
  EXPECT_FALSE(setting_holds("50000000", "50003968\n", kPage));
  EXPECT_FALSE(setting_holds("50000000", "49995904\n", kPage)) << "a page less than the kernel would have left";
  EXPECT_FALSE(setting_holds("8", "max\n", kPage));
  EXPECT_FALSE(setting_holds("8", "", kPage));
  EXPECT_FALSE(setting_holds("8", "8 9\n", kPage));
}

TEST(CgroupNames, AreReadOnlyAsTheyAreWritten) {
  EXPECT_EQ(to_text(CgroupName{3, 1234}), "exec-3-1234");
  const auto parsed = parse_cgroup_name("exec-3-1234");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->id, 3U);
  EXPECT_EQ(parsed->helper, 1234);
  for (const char* other : {"exec-3", "exec-3-", "exec--1", "exec-3-0", "exec-03-12", "exec-3-1234x", "exec-3-12-4",
                            "exec-3--12", "exec-99999999999-1", "exec-1-99999999999", "Exec-1-2", "loom", ""}) {
    EXPECT_FALSE(parse_cgroup_name(other)) << other;
  }
}

TEST(CgroupNames, OnlyWhatIsEmptyAndOfADeadHelperIsStale) {
  EXPECT_TRUE(is_stale_cgroup("exec-1-2", false, "populated 0\nfrozen 0\n"));
  EXPECT_FALSE(is_stale_cgroup("exec-1-2", true, "populated 0\nfrozen 0\n"));
  EXPECT_FALSE(is_stale_cgroup("exec-1-2", false, "populated 1\nfrozen 0\n"));
  EXPECT_FALSE(is_stale_cgroup("exec-1-2", false, ""));
  EXPECT_FALSE(is_stale_cgroup("somebody-1-2", false, "populated 0\n"));
}

TEST(CgroupCounters, AreFoundByTheirWholeKey) {
  const char* events = "low 0\nhigh 1\nmax 22\noom 3\noom_kill 4\noom_group_kill 5\n";
  EXPECT_EQ(counter_of(events, "oom_kill"), 4U);
  EXPECT_EQ(counter_of(events, "oom"), 3U);
  EXPECT_EQ(counter_of(events, "kill"), std::nullopt);
  EXPECT_EQ(counter_of("max", "max"), std::nullopt);
  EXPECT_EQ(counter_of("max x\n", "max"), std::nullopt);
}

TEST(CgroupCounters, ProcessesAreCountedAndFoundByTheirWholeNumber) {
  EXPECT_EQ(count_processes("12\n345\n"), 2U);
  EXPECT_EQ(count_processes(""), 0U);
  EXPECT_TRUE(lists_process("12\n345\n", 345));
  EXPECT_FALSE(lists_process("12\n345\n", 34));
}

TEST(CgroupPlaces, TheOwnOneIsTheUnifiedLine) {
  EXPECT_EQ(own_cgroup("0::/user.slice/a b\n"), "/user.slice/a b");
  EXPECT_EQ(own_cgroup("12:pids:/x\n1:name=systemd:/y\n0::/\n"), "/");
  EXPECT_EQ(own_cgroup("12:pids:/x\n"), std::nullopt);
}

TEST(CgroupPlaces, TheDeepestCommonOneIsCutBetweenNames) {
  EXPECT_EQ(common_cgroup("/a/b/c", "/a/b/d"), "/a/b");
  EXPECT_EQ(common_cgroup("/a/b", "/a/bc"), "/a");
  EXPECT_EQ(common_cgroup("/a/b", "/a/b"), "/a/b");
  EXPECT_EQ(common_cgroup("/a/b", "/a/b/c"), "/a/b");
  EXPECT_EQ(common_cgroup("/a", "/b"), "/");
  EXPECT_EQ(common_cgroup("/", "/b"), "/");
}

TEST(CgroupPlaces, TheMountIsTheDeepestCgroup2Above) {
  const char* mounts =
      "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
      "31 1 0:27 / /sys/fs/cgroup2 rw - cgroup2 cgroup2 rw\n"
      "32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "33 1 0:26 /inner /srv/cg rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(mount_of_cgroup(mounts, "/sys/fs/cgroup/loom")->point, "/sys/fs/cgroup");
  EXPECT_EQ(mount_of_cgroup(mounts, "/sys/fs/cgroup2/x")->point, "/sys/fs/cgroup2");
  EXPECT_EQ(mount_of_cgroup(mounts, "/srv/cg")->root, "/inner");
  EXPECT_FALSE(mount_of_cgroup(mounts, "/srv/other"));
}

TEST(CgroupPlaces, TheWayFromOneToTheOtherGoesOverTheirMeetingPlace) {
  const CgroupMount whole{"/", "/sys/fs/cgroup"};
  EXPECT_EQ(meeting_place(whole, "/sys/fs/cgroup/u/loom", "/u/app/x"), "/sys/fs/cgroup/u");
  EXPECT_EQ(meeting_place(whole, "/sys/fs/cgroup/loom", "/session"), "/sys/fs/cgroup");
  EXPECT_EQ(meeting_place(whole, "/sys/fs/cgroup", "/"), "/sys/fs/cgroup");
  const CgroupMount part{"/inner", "/srv/cg"};
  EXPECT_EQ(meeting_place(part, "/srv/cg/loom", "/inner/x"), "/srv/cg");
  EXPECT_EQ(meeting_place(part, "/srv/cg/loom", "/inner/loom/x"), "/srv/cg/loom");
  // Above what is mounted, or above one's own namespace, nothing can be looked at.
  EXPECT_EQ(meeting_place(part, "/srv/cg/loom", "/elsewhere"), std::nullopt);
  EXPECT_EQ(meeting_place(whole, "/sys/fs/cgroup/loom", "/../x"), std::nullopt);
}

TEST(CgroupCpu, IsLookedAtWhenItCouldBeOverAndNeverInAHurry) {
  EXPECT_EQ(next_cpu_look(0, 4'000'000, 2), milliseconds(2000));
  EXPECT_EQ(next_cpu_look(3'000'000, 4'000'000, 1), milliseconds(1000));
  EXPECT_EQ(next_cpu_look(3'999'999, 4'000'000, 8), milliseconds(10));
  EXPECT_EQ(next_cpu_look(5'000'000, 4'000'000, 8), milliseconds(10));
  EXPECT_EQ(next_cpu_look(0, ~std::uint64_t{0}, 1), milliseconds(60'000));
  EXPECT_EQ(next_cpu_look(0, 1'000'000, 0), milliseconds(1000));
}

}  // namespace
}  // namespace loom::helper
