// policy-fixtures/plan/NAME: policy.json and host.json give expected.json. LOOM_GOLDEN_ACCEPT=1 rewrites what is
// expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/json.h"
#include "plan/bwrap_argv.h"
#include "plan/explain.h"
#include "plan/mount_plan.h"
#include "policy/decode.h"
#include "test/support/fake_tree.h"

namespace loom {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Value read_json(const fs::path& path) {
  auto value = parse_json(read_text(path));
  EXPECT_TRUE(value) << path << ": " << (value ? "" : value.error().text());
  return value ? *value : Value{};
}

// "dir", "file", "socket", "denied" or "-> TEXT", then words links=N, uid=N.
void add_node(test::FakeTree& tree, const Path& path, const std::string& what) {
  std::istringstream words(what);
  std::string word;
  words >> word;
  if (word == "->") {
    words >> word;
    tree.link(path, word);
    return;
  }
  if (word == "denied") {
    tree.denied(path);
    return;
  }
  NodeFacts& facts = word == "dir" ? tree.directory(path) : word == "file" ? tree.file(path) : tree.socket(path);
  while (words >> word) {
    if (word.rfind("links=", 0) == 0) facts.links = std::stoul(word.substr(6));
    if (word.rfind("uid=", 0) == 0) facts.uid = static_cast<std::uint32_t>(std::stoul(word.substr(4)));
  }
}

HostFacts read_host(const Value& value) {
  test::FakeTree tree;
  if (value.find("system") != nullptr) tree.system();
  for (const Member& node : *value.find("nodes")->get_if<Map>()) {
    add_node(tree, node.first, *node.second.get_if<std::string>());
  }
  HostFacts host = tree.facts();
  const Value* root = value.find("root_start");
  host.root_start = root != nullptr && *root->get_if<bool>();
  return host;
}

Array lines(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

Value render_plan(const MountPlan& plan) {
  Array ops;
  Array nothing;
  for (const ExplainRow& row : explain_plan(plan)) {
    if (row.what == "nothing") {
      nothing.emplace_back(row.entry + " " + row.where + ": " + row.note);
      continue;
    }
    std::string line = row.what + (row.access.empty() ? "" : " " + row.access) + " " + row.where + " by " + row.entry;
    if (row.what == "link") line += ", " + row.note;
    ops.emplace_back(std::move(line));
  }
  const std::string tag = mounts_tag(plan, planned_counts(plan));
  return Map{{"ops", std::move(ops)},
             {"nothing", std::move(nothing)},
             {"events", lines(plan.events)},
             {"skips", lines(plan.skips)},
             {"tag", tag.substr(0, tag.rfind(",plan="))}};
}

Value render(const Result<MountPlan>& plan, const Value& asked) {
  if (!plan) {
    return Map{{"error", Map{{"code", plan.error().code}, {"where", plan.error().where}, {"what", plan.error().what}}}};
  }
  Value rendered = render_plan(*plan);
  Map access;
  for (const Value& path : *asked.get_if<Array>()) {
    const PathVerdict verdict = judge_path(*plan, *path.get_if<std::string>());
    std::string text(to_text(verdict.access));
    if (!verdict.entry.empty()) text += " by " + verdict.entry;
    access.emplace_back(*path.get_if<std::string>(), text + ": " + verdict.reason);
  }
  rendered.get_if<Map>()->emplace_back("access", std::move(access));
  return rendered;
}

// The same plan as bubblewrap's argv, an option a line.
std::string render_bwrap(const MountPlan& plan) {
  const auto command = bwrap_command(plan, false, "PROGRAM", 6);
  if (!command) return command.error().text() + "\n";
  std::string text;
  for (const std::string& word : command->argv) {
    const bool option = word.rfind("--", 0) == 0;
    if (!text.empty()) text += option ? '\n' : ' ';
    text += word;
  }
  for (const std::string& path : command->unguarded) text += "\nunguarded " + path;
  return text + "\nempty files " + std::to_string(command->empty_files) + "\n";
}

class PlanFixture : public testing::TestWithParam<fs::path> {};

TEST_P(PlanFixture, PlansAsExpected) {
  const fs::path& dir = GetParam();
  const auto policy = decode_policy_bytes(read_text(dir / "policy.json"));
  ASSERT_TRUE(policy) << policy.error().text();
  const Value host = read_json(dir / "host.json");
  const std::string got = render_json_pretty(render(mount_plan(*policy, read_host(host)), *host.find("ask")));
  if (std::getenv("LOOM_GOLDEN_ACCEPT") != nullptr) std::ofstream(dir / "expected.json") << got << '\n';
  EXPECT_EQ(got + "\n", read_text(dir / "expected.json"));
}

TEST_P(PlanFixture, IsBubblewrapsArgvAsExpected) {
  const fs::path& dir = GetParam();
  const auto policy = decode_policy_bytes(read_text(dir / "policy.json"));
  ASSERT_TRUE(policy) << policy.error().text();
  const auto plan = mount_plan(*policy, read_host(read_json(dir / "host.json")));
  if (!plan) return;  // refused before any backend is asked
  const std::string got = render_bwrap(*plan);
  if (std::getenv("LOOM_GOLDEN_ACCEPT") != nullptr) std::ofstream(dir / "bwrap.txt") << got;
  EXPECT_EQ(got, read_text(dir / "bwrap.txt"));
}

std::vector<fs::path> fixtures() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator("policy-fixtures/plan")) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string fixture_name(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.filename().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, PlanFixture, testing::ValuesIn(fixtures()), fixture_name);

TEST(PlanFixtures, AreManyEnoughToBeTheContract) {
  EXPECT_GE(fixtures().size(), 20U);
}

}  // namespace
}  // namespace loom
