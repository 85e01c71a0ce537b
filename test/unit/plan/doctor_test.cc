// What the doctor says, as a table of facts and findings (spec/cli.md "loom-census doctor").
#include "plan/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace loom {
namespace {

constexpr int kEfault = 14;

DoctorFacts sound() {
  DoctorFacts facts;
  facts.uid = 1000;
  facts.kernel = "6.18.1-amd64";
  facts.max_user_namespaces = 10000;
  facts.mount_calls = {{"open_tree", kEfault}, {"mount_setattr", kEfault}};
  facts.cgroups = CgroupLayout::kUnified;
  facts.cgroup_base = "/sys/fs/cgroup/loom";
  facts.features = {"namespaces", "mounts", "landlock:abi=9", "seccomp-base", "seccomp-net", "cgroup-v2"};
  facts.trial_ran = true;
  return facts;
}

Finding of(const DoctorFacts& facts, const std::string& check) {
  for (const Finding& finding : examine(facts)) {
    if (finding.check == check) return finding;
  }
  ADD_FAILURE() << "no check " << check;
  return {};
}

void without(DoctorFacts& facts, const std::string& tag, const std::string& why) {
  for (std::string& entry : facts.features) {
    if (layer_of(entry) == tag) entry = skip_entry(tag, why);
  }
}

TEST(Doctor, AHostThatHasEverythingLacksNothing) {
  for (const Finding& finding : examine(sound())) {
    EXPECT_TRUE(finding.health == Health::kHeld || finding.health == Health::kNotNeeded) << finding.check;
    EXPECT_EQ(finding.remedy, "") << finding.check;
  }
}

TEST(Doctor, EachLackIsFoundWithItsRemedy) {
  struct Row {
    const char* check;
    std::function<void(DoctorFacts&)> fault;
    const char* found;
    const char* remedy;
  };
  const auto closed = [](DoctorFacts& f) { without(f, "namespaces", "closed"); };
  const auto no_base = [](DoctorFacts& f) { without(f, "cgroup-v2", "no base"); };
  const Row rows[] = {
      {"kernel", [](auto& f) { f.kernel = "5.15.0"; }, "5.15.0", "from 6.1"},
      {"kernel", [](auto& f) { f.kernel = "6.0.19"; }, "6.0.19", "from 6.1"},
      {"user-namespaces", [&](auto& f) { closed(f), f.max_user_namespaces = 0; }, "closed", "max_user_namespaces"},
      {"user-namespaces", [&](auto& f) { closed(f), f.unprivileged_userns_clone = 0; }, "closed", "userns_clone"},
      {"user-namespaces", [&](auto& f) { closed(f), f.apparmor_restricts_userns = 1; }, "closed", "AppArmor"},
      {"user-namespaces", [&](auto& f) { closed(f), f.root = true, f.apparmor_restricts_userns = 1; }, "closed",
       "outer container"},
      {"mount-api", [](auto& f) { f.mount_calls[1].second = 38; }, "no mount_setattr", "kernel from 6.1"},
      {"mount-api", [](auto& f) { f.mount_calls[0].second = 1; }, "no open_tree", "seccomp"},
      {"proc", [&](auto& f) { closed(f), f.over_proc = {"/proc/kcore"}; }, "/proc/kcore", "unmask"},
      {"idmapped-mounts", [](auto& f) { f.root = true, f.trial_ran = false, f.trial_fault = "/w: cannot_idmap: x"; },
       "cannot_idmap", "ordinary user"},
      {"landlock", [](auto& f) { without(f, "landlock", "off"), f.lsm = "capability,yama"; }, "capability,yama",
       "lsm=landlock,capability,yama"},
      {"seccomp", [](auto& f) { without(f, "seccomp-base", "none"); }, "none", "SECCOMP_FILTER"},
      {"cgroup-v2", [&](auto& f) { no_base(f), f.root = true; }, "no base", "mkdir /sys/fs/cgroup/loom"},
      {"cgroup-v2", [&](auto& f) { no_base(f), f.cgroups = CgroupLayout::kLegacy; }, "no base", "unified"},
      {"cgroup-v2", [&](auto& f) { no_base(f), f.cgroups = CgroupLayout::kHybrid; }, "no base", "unified"},
      {"cgroup-v2", [&](auto& f) { no_base(f), f.cgroups = CgroupLayout::kNone; }, "no base", "mount a cgroup2"},
      {"cgroup-v2",
       [&](auto& f) { no_base(f), f.own_cgroup = "/user.slice/user-1000.slice/user@1000.service/app.slice/x"; },
       "no base", "mkdir /sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/loom;"},
      {"cgroup-v2", [&](auto& f) { no_base(f), f.own_cgroup = "/user.slice/user-1000.slice/session-2.scope"; },
       "no base", "systemd-run --user --scope"},
      {"jail", [](auto& f) { f.trial_ran = false, f.trial_fault = "why"; }, "why", "above"},
  };
  for (const Row& row : rows) {
    DoctorFacts facts = sound();
    row.fault(facts);
    const Finding finding = of(facts, row.check);
    EXPECT_EQ(finding.health, Health::kLacking) << row.check << " " << row.remedy;
    EXPECT_NE(finding.found.find(row.found), std::string::npos) << finding.found;
    EXPECT_NE(finding.remedy.find(row.remedy), std::string::npos) << finding.remedy;
  }
}

TEST(Doctor, WhatIsOlderThanTheNewestIsWeakerAndNotLacking) {
  DoctorFacts facts = sound();
  facts.features[2] = "landlock:abi=2";
  EXPECT_EQ(of(facts, "landlock").health, Health::kWeaker);
  EXPECT_NE(of(facts, "landlock").found.find("TCP by port (4)"), std::string::npos);
  facts.features[2] = "landlock:abi=7";
  EXPECT_EQ(of(facts, "landlock").health, Health::kHeld);
}

TEST(Doctor, RootIsToldOfItsIdmapsAndAnOrdinaryUserIsNot) {
  DoctorFacts facts = sound();
  EXPECT_EQ(of(facts, "idmapped-mounts").health, Health::kNotNeeded);
  facts.root = true;
  EXPECT_EQ(of(facts, "idmapped-mounts").health, Health::kHeld);
}

TEST(Doctor, BwrapIsTheFallbackOfOrdinaryUsersAndSaysWhatWasSeenOfIt) {
  DoctorFacts facts = sound();
  EXPECT_EQ(of(facts, "bwrap").found, "not installed");
  without(facts, "namespaces", "closed");
  EXPECT_NE(of(facts, "bwrap").remedy, "");
  facts.bwrap = true;
  facts.bwrap_version = "bubblewrap 0.8.0";
  facts.bwrap_faults = {"leaks", "creates"};
  facts.features.push_back("bwrap");
  EXPECT_EQ(of(facts, "bwrap").health, Health::kWeaker);
  EXPECT_NE(of(facts, "bwrap").found.find("it leaks, it creates"), std::string::npos);
}

}  // namespace
}  // namespace loom
