// loom-exec self-test: every probe holds on this kernel; what does not hold, and what shows nothing, is told.
#include "helper/self_test/self_test.h"

#include <gtest/gtest.h>

#include <set>

#include "helper/self_test/probes_table.h"
#include "helper/self_test/record.h"
#include "jail_runner.h"

namespace loom::helper::test {
namespace {

HostContext host_with(const std::string& stage2) {
  HostOptions options;
  options.stage2 = stage2;
  options.probes = JailRunner::own_directory() + "/../bin/libexec/loom-probes";
  Result<HostContext> made = make_host_context(options);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text());
  return std::move(*made);
}

HostContext usual_host() {
  return host_with(JailRunner::stage2_path());
}

TEST(SelfTest, EveryProbeIsEnforcedOrSkippedForWhatThisKernelLacks) {
  const HostContext host = usual_host();
  const auto results = run_self_test(host, nullptr);
  ASSERT_TRUE(results) << results.error().text();
  EXPECT_EQ(results->size(), probe_cases().size());
  for (const ProbeResult& probe : *results) {
    EXPECT_NE(probe.verdict, Verdict::kFailed) << probe.name << ": " << probe.reason;
    EXPECT_EQ(probe.verdict == Verdict::kSkipped, !probe.reason.empty()) << probe.name;
  }
}

// It ends at once; nothing is there to be refused, and nothing may count as refused.
TEST(SelfTest, WithAStage2ThatOnlyLeavesNoProbeIsEnforced) {
  for (const char* program : {"/bin/false", "/bin/true"}) {
    const HostContext host = host_with(program);
    const auto results = run_self_test(host, nullptr);
    ASSERT_TRUE(results) << results.error().text();
    for (const ProbeResult& probe : *results) {
      EXPECT_NE(probe.verdict, Verdict::kEnforced) << program << " " << probe.name;
      EXPECT_FALSE(probe.reason.empty());
    }
  }
}

TEST(SelfTest, WhatTheHostLacksIsSkippedWithItsReason) {
  HostContext host = usual_host();
  for (std::string& feature : host.features) {
    if (layer_of(feature) == layer::kSeccompBase) feature = skip_entry(layer::kSeccompBase, "taken away by this test");
  }
  const auto results = run_self_test(host, nullptr);
  ASSERT_TRUE(results);
  for (const ProbeResult& probe : *results) {
    const bool rests = std::count(probe.layers.begin(), probe.layers.end(), layer::kSeccompBase) != 0;
    if (!rests) continue;
    EXPECT_EQ(probe.verdict, Verdict::kSkipped) << probe.name;
    EXPECT_EQ(probe.reason, "seccomp-base: taken away by this test");
  }
}

TEST(SelfTest, APlatformWithoutAJailIsToldFromOneThatLacksALayer) {
  HostOptions options;
  options.platform = Platform::kNoJail;
  options.allow_unenforced = true;
  const Result<HostContext> none = make_host_context(options);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_TRUE(without_a_jail(none->features));
  EXPECT_FALSE(without_a_jail(usual_host().features));
}

class OneTrial : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TrialGround::make(host);
    ASSERT_TRUE(made) << made.error().text();
    ground = std::move(*made);
    trial.emplace(*ground, "trial");
  }
  HostContext host = usual_host();
  std::unique_ptr<TrialGround> ground;
  std::optional<Trial> trial;
};

// Each a policy that lets a misdeed through, which must not stay unnoticed.
TEST_F(OneTrial, AMisdeedThatWorksFails) {
  ExecRequest request = trial->probe("protected");
  request.policy.protected_paths.clear();
  trial->judge(trial->run(std::move(request)));
  EXPECT_EQ(trial->conclude(), Verdict::kFailed);
  EXPECT_NE(trial->reason().find("it worked: "), std::string::npos) << trial->reason();
}

TEST_F(OneTrial, AFileOfTheHostThatCouldBeMadeFails) {
  ExecRequest request = trial->probe("outside");
  request.policy.writable_roots.push_back(trial->outside());
  request.policy.readable_roots.push_back(trial->outside());
  trial->run(std::move(request));
  EXPECT_EQ(trial->conclude(), Verdict::kFailed);
  EXPECT_NE(trial->reason().find("a directory of the host"), std::string::npos) << trial->reason();
}

TEST_F(OneTrial, ASocketFamilyThatShouldNotBeThereFails) {
  ExecRequest request = trial->probe("sockets", {",1,"});
  request.policy.network.mode = NetworkMode::kFull;
  trial->judge(trial->run(std::move(request)));
  EXPECT_EQ(trial->conclude(), Verdict::kFailed);
}

TEST_F(OneTrial, AHostsProgramThatWasTalkedToFails) {
  ExecRequest request = trial->probe("host-sockets", {trial->abstract_name()});
  request.policy.readable_roots.push_back(trial->outside());
  trial->run(std::move(request));
  EXPECT_EQ(trial->conclude(), Verdict::kFailed);
  EXPECT_NE(trial->reason().find("talked to a program"), std::string::npos) << trial->reason();
}

TEST_F(OneTrial, AProbeThatIsNotThereOrSaysNothingFails) {
  trial->attempt("no-such-probe");
  EXPECT_EQ(trial->conclude(), Verdict::kFailed);
  Trial silent(*ground, "silent");
  EXPECT_EQ(silent.conclude(), Verdict::kFailed);
}

TEST_F(OneTrial, NothingIsLeftOfTheGround) {
  const Path place = ground->path();
  trial->attempt("outside");
  EXPECT_TRUE(std::filesystem::exists(place));
  ground.reset();
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST(ProbeRecord, ReadsEachKindOfLineAndTheEndOfTheRightProbeOnly) {
  const Record record = read_record("+ a\n- b\r\n! c d\n. e\n\nnoise\nend 7\n", "7");
  EXPECT_EQ(record.did, std::vector<std::string>{"a"});
  EXPECT_EQ(record.could_not, std::vector<std::string>{"b"});
  EXPECT_EQ(record.misdeeds, std::vector<std::string>{"c d"});
  EXPECT_EQ(record.refused, std::vector<std::string>{"e"});
  EXPECT_TRUE(record.ended);
  EXPECT_FALSE(read_record("+ a\nend 8\n", "7").ended);
  EXPECT_FALSE(read_record("+ a\n", "7").ended);
}

TEST(ProbeCases, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const ProbeCase& probe : probe_cases()) EXPECT_TRUE(names.insert(probe.name).second) << probe.name;
}

}  // namespace
}  // namespace loom::helper::test
