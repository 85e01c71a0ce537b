// Explain is the executor's own plan (spec/policy.md "loom-policy explain"): for drawn trees, policies and paths, what
// judge_path says of each path is what a jailed command finds when it tries to look, read, write and create there.
// LOOM_TEST_SEED draws others; what went wrong prints its seed.
#include "plan/explain.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "jail_runner.h"
#include "os/host_facts.h"
#include "plan/mount_plan.h"
#include "plan/path_index.h"
#include "policy/covers.h"
#include "policy/validate.h"

namespace loom::helper::test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSeed = 20261129;
constexpr unsigned kPolicies = 60;

// For each path a line: what could be looked at, read, written, and made where nothing was ("s", "r", "w", "c"). A
// directory is written by making a file in it.
constexpr const char* kProbe = R"(while IFS= read -r p; do
  got=-
  { [ -e "$p" ] || [ -L "$p" ]; } && got=s
  if [ $got = s ]; then
    command : <"$p" && got=${got}r
    if [ -d "$p" ]; then
      command : >"$p/.probe" && got=${got}w
      rm -f "$p/.probe"
    else
      command : >>"$p" && got=${got}w
    fi
  else
    command : >"$p" && got=${got}c
    [ $got = -c ] && rm -f "$p"
  fi
  echo "$got"
done 2>/dev/null)";

struct World {
  std::string root;
  std::vector<Path> directories;
  std::vector<Path> nodes;   // real ones: directories and files
  std::vector<Path> absent;  // names in directories where nothing is
  std::vector<Path> links;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  const Path& of(const std::vector<Path>& paths) { return paths[below(paths.size())]; }

 private:
  std::mt19937 random_;
};

void grow(World& world, Draw& draw) {
  world.directories = {world.root};
  world.nodes = {world.root};
  for (int i = 0; i < 14; ++i) {
    const Path parent = draw.of(world.directories);
    const Path path = parent + "/" + std::string(1, static_cast<char>('a' + draw.below(4)));
    if (fs::exists(fs::symlink_status(path))) continue;
    if (draw.one_in(6)) {
      fs::create_symlink(draw.one_in(4) ? world.root + "/gone" : draw.of(world.nodes), path);
      world.links.push_back(path);
    } else if (draw.one_in(2)) {
      fs::create_directory(path);
      world.directories.push_back(path);
      world.nodes.push_back(path);
    } else {
      std::ofstream(path) << "text";
      world.nodes.push_back(path);
    }
  }
  for (const Path& directory : world.directories) {
    for (const char* name : {"/d", "/e", "/e/f"}) {
      const Path path = directory + name;
      if (!fs::exists(fs::symlink_status(path)) && !fs::is_symlink(fs::path(path).parent_path())) {
        world.absent.push_back(path);
      }
    }
  }
}

const Path& any_path(const World& world, Draw& draw) {
  if (!world.links.empty() && draw.one_in(6)) return draw.of(world.links);
  return draw.one_in(4) ? draw.of(world.absent) : draw.of(world.nodes);
}

Policy draw_policy(const World& world, Draw& draw) {
  Policy policy;
  for (std::size_t i = draw.below(2) + (draw.one_in(5) ? 0 : 1); i > 0; --i) {
    policy.writable_roots.push_back(draw.of(world.directories));
  }
  for (std::size_t i = draw.below(3); i > 0; --i) policy.readable_roots.push_back(draw.of(world.nodes));
  for (std::size_t i = draw.below(4); i > 0; --i) policy.frozen.push_back(any_path(world, draw));
  for (std::size_t i = draw.below(3); i > 0; --i) policy.protected_paths.push_back(any_path(world, draw));
  if (draw.one_in(3)) {
    const Access access = draw.one_in(2) ? Access::kReadOnly : Access::kReadWrite;
    policy.mounts.push_back({any_path(world, draw), access, draw.one_in(2)});
  }
  if (draw.one_in(6)) policy.scratch.host_path = draw.of(world.directories);
  return policy;
}

// What the verdict promises, in the probe's letters; "" where it promises nothing.
class Oracle {
 public:
  explicit Oracle(const MountPlan& plan) : plan_(plan) {}

  [[nodiscard]] std::string expect(const Path& path) const {
    if (!exists(path)) {
      const Path parent(parent_of(path));
      const bool made = exists(parent) && is_directory(parent) && writes(path) && writes(parent);
      return made ? "-c" : "-";
    }
    std::string letters = "s";
    const PathVerdict verdict = judge_path(plan_, path);
    const bool masked_file = verdict.access == PathAccess::kHidden && !is_directory(path);
    if (!masked_file) letters += "r";
    if (writes(path) && (!is_directory(path) || writes(path + "/.probe"))) letters += "w";
    return letters;
  }

 private:
  [[nodiscard]] bool writes(const Path& path) const { return judge_path(plan_, path).access == PathAccess::kWrite; }
  [[nodiscard]] bool leads_on(const Path& path) const {
    return std::any_of(plan_.ops.begin(), plan_.ops.end(), [&](const PlanOp& op) { return covers(path, op.path); });
  }
  [[nodiscard]] const PlanOp* mask_over(const Path& path) const {
    for (const PlanOp& op : plan_.ops) {
      const bool mask = op.op == OpClass::kMaskDir || op.op == OpClass::kMaskFile || op.op == OpClass::kPlaceholder;
      if (mask && covers(op.path, path)) return &op;
    }
    return nullptr;
  }
  [[nodiscard]] bool is_directory(const Path& path) const {
    if (const PlanOp* mask = mask_over(path)) return mask->op != OpClass::kMaskFile;
    return leads_on(path) || fs::is_directory(fs::symlink_status(path));
  }
  [[nodiscard]] bool exists(const Path& path) const {
    if (const PlanOp* mask = mask_over(path)) return mask->path == path;
    const PathVerdict verdict = judge_path(plan_, path);
    if (verdict.access == PathAccess::kNone || verdict.access == PathAccess::kHidden) return false;
    if (leads_on(path)) return true;
    const bool fresh = verdict.entry == "scratch" && plan_.scratch_is_tmpfs;
    return !fresh && fs::exists(fs::symlink_status(path));
  }

  const MountPlan& plan_;
};

std::string told(const World& world, const Policy& policy, const MountPlan& plan) {
  std::ostringstream out;
  for (const Path& path : world.links) out << path << " -> " << fs::read_symlink(path).string() << "\n";
  for (const Path& path : policy.frozen) out << "frozen " << path << "\n";
  for (const Path& path : policy.protected_paths) out << "protected " << path << "\n";
  for (const ExplainRow& row : explain_plan(plan)) {
    out << row.what << " " << row.access << " " << row.where << " by " << row.entry << " " << row.note << "\n";
  }
  return out.str();
}

void hold_against_reality(JailRunner& runner, unsigned seed, std::map<std::string, int>& drawn) {
  SCOPED_TRACE("LOOM_TEST_SEED=" + std::to_string(seed));
  const TemporaryDirectory home;
  World world{home.path(), {}, {}, {}, {}};
  Draw draw(seed);
  grow(world, draw);
  const Policy policy = draw_policy(world, draw);
  if (!validate_document(policy)) return;

  // Root's own files are the command's, whatever the policy: mode bits are not what is held here.
  runner.host.options.workspace = world.root;
  HostFacts facts = host_facts(policy);
  facts.workspace = world.root;
  const auto plan = mount_plan(policy, facts);
  ExecRequest request = JailRunner::request({"/bin/sh", "-c", kProbe}, world.root);
  request.policy = policy;
  request.cwd = "/";
  std::vector<Path> asked = world.nodes;
  asked.insert(asked.end(), world.absent.begin(), world.absent.end());
  for (const char* path :
       {"/", "/usr/bin/env", "/etc/passwd", "/home", "/root", "/var/log", "/tmp", "/tmp/other", "/new"}) {
    asked.emplace_back(path);
  }
  std::vector<std::string> expected;
  std::string input;
  for (const Path& path : asked) {
    expected.push_back(plan ? Oracle(*plan).expect(path) : "");
    input += path + "\n";
  }
  const Outcome outcome = runner.run(std::move(request), input);
  if (!plan) {
    ++drawn["refused"];
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->text(), plan.error().text());
    return;
  }
  ASSERT_TRUE(outcome.exit) << outcome.why() << "\n" << told(world, policy, *plan);
  std::istringstream lines(outcome.out);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::string got;
    std::getline(lines, got);
    ++drawn[got];
    EXPECT_EQ(got, expected[i]) << asked[i] << ": " << to_text(judge_path(*plan, asked[i]).access) << " by "
                                << judge_path(*plan, asked[i]).entry << ": " << judge_path(*plan, asked[i]).reason
                                << "\n"
                                << told(world, policy, *plan);
  }
}

TEST(Explain, SaysWhatTheCommandCanReallyDo) {
  JailRunner runner;
  if (!runner.host.no_container.empty()) GTEST_SKIP() << runner.host.no_container;
  const char* given = std::getenv("LOOM_TEST_SEED");
  const unsigned first = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : kSeed;
  std::printf("LOOM_TEST_SEED=%u, %u policies\n", first, kPolicies);
  std::map<std::string, int> drawn;
  for (unsigned i = 0; i < kPolicies && !testing::Test::HasFailure(); ++i)
    hold_against_reality(runner, first + i, drawn);
  if (given != nullptr) return;
  // Each answer was drawn, or the property says nothing about it.
  for (const char* answer : {"s", "sr", "srw", "-", "-c", "refused"}) EXPECT_GT(drawn[answer], 0) << answer;
}

}  // namespace
}  // namespace loom::helper::test
