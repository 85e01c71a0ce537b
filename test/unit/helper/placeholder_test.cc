// Entries that are absent stay absent, and the host's tree is afterwards byte for byte what it was (spec/jail.md
// "Missing").
#include "os/placeholder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>

#include "helper/placeholders.h"
#include "jail_runner.h"

namespace loom::helper::test {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

// Every path below, with what a person can see of it.
std::map<std::string, std::string> picture(const std::string& root, bool times = true) {
  std::map<std::string, std::string> seen;
  struct stat top {};
  ::lstat(root.c_str(), &top);
  if (times) seen[root] = std::to_string(top.st_mtim.tv_nsec);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    struct stat facts {};
    ::lstat(entry.path().c_str(), &facts);
    std::string text = std::to_string(facts.st_mode) + " " + std::to_string(facts.st_uid);
    if (times) text += " " + std::to_string(facts.st_mtim.tv_sec) + "." + std::to_string(facts.st_mtim.tv_nsec);
    if (entry.is_symlink()) text += " -> " + fs::read_symlink(entry.path()).string();
    if (S_ISREG(facts.st_mode)) {
      std::ifstream file(entry.path());
      text += " " + std::string(std::istreambuf_iterator<char>(file), {});
    }
    seen[entry.path().string()] = text;
  }
  return seen;
}

struct stat facts_of(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) facts.st_mode = 0;
  return facts;
}

// As a helper that was killed leaves it.
void leave_stale(const std::string& path) {
  ASSERT_EQ(::mkdir(path.c_str(), kPlaceholderDirectory), 0);
  const std::array<timespec, 2> times{{{0, UTIME_OMIT}, {kPlaceholderTime, 0}}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

class Placeholder : public testing::Test {
 protected:
  void SetUp() override {
    if (!runner.host.no_container.empty()) GTEST_SKIP() << runner.host.no_container;
    put(root + "/file", "text");
    put(root + "/.git/HEAD", "ref: refs/heads/main\n");
    before = picture(root);
  }
  ExecRequest request(const std::string& script) {
    ExecRequest made = JailRunner::shell(script, root);
    made.policy.frozen = frozen;
    made.policy.protected_paths = hidden;
    made.demand = Demand::kPlatform;
    return made;
  }
  Outcome run(const std::string& script) { return runner.run(request(script)); }

  JailRunner runner;
  TemporaryDirectory workspace;
  std::string root = workspace.path();
  std::vector<Path> frozen{root + "/.vscode", root + "/.envrc", root + "/.git/commondir", root + "/a/b/c"};
  std::vector<Path> hidden{root + "/.env", root + "/sub/.env"};
  std::map<std::string, std::string> before;
};

TEST_F(Placeholder, WhatIsAbsentCannotBeMadeInsideAndLeavesNoTraceOutside) {
  const Outcome outcome = run(
      "(mkdir .vscode; echo x > .vscode/tasks.json; echo x > .envrc; rm -rf .envrc; mv .vscode away; mkdir -p a/b/c; "
      "mv file a; ln -s x sub; mkdir sub; echo x > sub/.env; echo x > .env; echo x > .git/commondir; rm "
      ".git/commondir; mv .git .g; ln file .git/commondir; chmod 700 .vscode a; touch -d 2000-01-01 a) 2>/dev/null\n"
      "cat .git/commondir; ls -A .vscode .env");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "..env:\n.gitignore\n\n.vscode:\n.gitignore\n");
  EXPECT_EQ(picture(root), before);
  EXPECT_FALSE(outcome.reports("event:unguarded")) << testing::PrintToString(outcome.exit->enforcement);
  EXPECT_FALSE(outcome.reports("event:protected-appeared"));
}

TEST_F(Placeholder, WhileTheJailLivesItIsAnEmptyDirectoryOfTheTreesOwnerThatEverybodyElseLeavesAlone) {
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(root.c_str(), 4321, 4322), 0);
    ASSERT_EQ(::chown((root + "/.git").c_str(), 4321, 4322), 0);
    before = picture(root);
  }
  ExecRequest asked = request("echo on; read x");
  bool seen = false;
  runner.on_output = [&](Execution& execution, const Outcome&) {
    const struct stat directory = facts_of(root + "/.vscode");
    EXPECT_EQ(directory.st_mode, mode_t{S_IFDIR | 0500});
    EXPECT_TRUE(is_placeholder_at((root + "/.vscode").c_str(), directory));
    EXPECT_EQ(directory.st_uid, facts_of(root).st_uid);
    EXPECT_EQ(directory.st_gid, facts_of(root).st_gid);
    EXPECT_TRUE(fs::is_empty(root + "/a"));
    const struct stat file = facts_of(root + "/.git/commondir");
    EXPECT_EQ(file.st_mode, mode_t{S_IFREG | 0444});
    EXPECT_EQ(file.st_uid, facts_of(root).st_uid);
    std::ifstream content(root + "/.git/commondir");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(content), {}), ".");
    seen = true;
    execution.write_stdin("", true);
  };
  Outcome outcome;
  ExecEvents events;
  events.output = [&](Stream, std::string_view, std::uint64_t, bool) { runner.on_output(*runner.execution, outcome); };
  events.stdin_consumed = [](std::uint64_t) {};
  events.exited = [&](const ExecExit& exit) { outcome.exit = exit, runner.loop.stop(); };
  events.failed = [&](const Error& error) { outcome.error = error, runner.loop.stop(); };
  runner.execution = start_execution(runner.loop, runner.host, std::move(asked), std::move(events));
  runner.execution->allow_output(Stream::kStdout, ~0ULL);
  runner.loop.run();
  runner.execution.reset();
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(seen);
  EXPECT_EQ(picture(root), before);
}

TEST_F(Placeholder, TwoHundredExecutionsAtOnceShareOneAndTheLastTakesItAway) {
  constexpr int kAll = 200;
  constexpr int kAtOnce = 25;  // of each of eight helpers
  std::vector<pid_t> helpers;
  for (int h = 0; h < kAll / kAtOnce; ++h) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int failed = 0;
      int left = kAtOnce;
      std::vector<std::unique_ptr<Execution>> executions;
      for (int i = 0; i < kAtOnce; ++i) {
        ExecEvents events;
        events.output = [](Stream, std::string_view, std::uint64_t, bool) {};
        events.stdin_consumed = [](std::uint64_t) {};
        events.exited = [&](const ExecExit& exit) {
          failed += exit.code == 7 ? 0 : 1;
          if (--left == 0) runner.loop.stop();
        };
        events.failed = [&](const Error& error) {
          std::fprintf(stderr, "%s\n", error.text().c_str());
          ++failed;
          if (--left == 0) runner.loop.stop();
        };
        ExecRequest asked = request("(mkdir .vscode || echo x > .vscode/x || mkdir -p a/b) 2>/dev/null || exit 7");
        executions.push_back(start_execution(runner.loop, runner.host, std::move(asked), std::move(events)));
      }
      runner.loop.run();
      executions.clear();
      ::_exit(std::min(failed, 100));
    }
    helpers.push_back(pid);
  }
  for (const pid_t pid : helpers) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << "executions that went wrong: " << WEXITSTATUS(status);
  }
  EXPECT_EQ(picture(root), before);
}

// The helper is a process of its own here, killed while its jail lives.
TEST_F(Placeholder, AHelperThatIsKilledLeavesItToTheNextOne) {
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe2(told.data(), O_CLOEXEC), 0);
  const pid_t helper = ::fork();
  if (helper == 0) {
    ExecEvents events;
    events.output = [&](Stream, std::string_view, std::uint64_t, bool) { (void)!::write(told[1], "x", 1); };
    events.stdin_consumed = [](std::uint64_t) {};
    events.exited = [](const ExecExit&) { ::_exit(1); };
    events.failed = [](const Error&) { ::_exit(1); };
    runner.execution = start_execution(runner.loop, runner.host, request("echo on; read x"), std::move(events));
    runner.execution->allow_output(Stream::kStdout, 100);
    runner.loop.run();
    ::_exit(1);
  }
  ::close(told[1]);
  char byte = 0;
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  ::close(told[0]);
  const std::vector<pid_t> jail = processes_of_init_below(helper);
  ::kill(helper, SIGKILL);
  ::waitpid(helper, nullptr, 0);
  for (const pid_t pid : jail) EXPECT_TRUE(ends_within(pid, 10000));
  EXPECT_TRUE(fs::exists(root + "/.vscode"));
  // A plan that asks for them, and one that does not: by then nothing holds them.
  const Outcome outcome = run("mkdir a 2>/dev/null || echo kept");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "kept\n");
  EXPECT_EQ(picture(root), before);
}

TEST_F(Placeholder, AStaleOneAtAUsualNameGoesAlsoWhenThePolicyDoesNotNameIt) {
  leave_stale(root + "/.idea");
  before = picture(root, false);
  before.erase(root + "/.idea");
  frozen = {};
  hidden = {};
  const Outcome outcome = run("mkdir .idea && echo made && rmdir .idea");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "made\n");
  EXPECT_EQ(picture(root, false), before);
}

TEST_F(Placeholder, AnEmptyDirectoryOfSomebodysOwnIsNoPlaceholder) {
  ASSERT_EQ(::mkdir((root + "/.vscode").c_str(), 0500), 0);
  before = picture(root);
  const Outcome outcome = run("echo x > .vscode/x");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(picture(root), before);
}

TEST_F(Placeholder, OneThatSomebodyHasFilledIsWhatItIs) {
  leave_stale(root + "/.vscode");
  ASSERT_EQ(::chmod((root + "/.vscode").c_str(), 0700), 0);
  put(root + "/.vscode/tasks.json", "mine");
  before = picture(root);
  const Outcome outcome = run("cat .vscode/tasks.json; echo x > .vscode/tasks.json");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "mine");
  EXPECT_EQ(picture(root), before);
}

// One byte is enough to lead git to a directory of the command's choice.
TEST_F(Placeholder, AFileThatWasMadeToLookLikeOneAndLeadsElsewhereIsWhatItIs) {
  put(root + "/.envrc", "x");
  const std::array<timespec, 2> times{{{0, UTIME_OMIT}, {kPlaceholderTime, 0}}};
  ASSERT_EQ(::chmod((root + "/.envrc").c_str(), kPlaceholderFile), 0);
  ASSERT_EQ(::utimensat(AT_FDCWD, (root + "/.envrc").c_str(), times.data(), 0), 0);
  before = picture(root);
  const Outcome outcome = run("cat .envrc; rm -f .envrc; chmod 600 .envrc; echo x > .envrc");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_EQ(outcome.out, "x");
  EXPECT_FALSE(outcome.reports("event:unguarded=" + root + "/.envrc"));
  EXPECT_EQ(picture(root), before);
}

TEST_F(Placeholder, WhatAHostProcessPutsInItsPlaceIsSaidAndStays) {
  before = picture(root, false);
  int at = 0;
  runner.on_output = [&](Execution&, const Outcome&) {
    if (at++ > 0) return;
    fs::remove(root + "/.envrc");
    put(root + "/.envrc", "by the host");
  };
  const Outcome outcome = run("echo on; for i in 1 2 3; do :; done");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("event:protected-appeared=" + root + "/.envrc"));
  EXPECT_FALSE(outcome.reports("event:protected-appeared=" + root + "/.vscode"));
  EXPECT_TRUE(fs::is_regular_file(root + "/.envrc"));
  fs::remove(root + "/.envrc");
  EXPECT_EQ(picture(root, false), before);
}

TEST_F(Placeholder, WhereNoneCanBeMadeTheEntryIsSaidToBeUnguarded) {
  if (::geteuid() == 0) {
    // Root may write everywhere but where nothing can be written.
    frozen = {root + "/file/x"};
  } else {
    ASSERT_EQ(::mkdir((root + "/closed").c_str(), 0500), 0);
    frozen = {root + "/closed/x"};
  }
  hidden = {};
  before = picture(root);
  const Outcome outcome = run("exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("event:unguarded=" + frozen[0])) << testing::PrintToString(outcome.exit->enforcement);
  EXPECT_EQ(picture(root), before);
  ::chmod((root + "/closed").c_str(), 0700);
}

TEST_F(Placeholder, NoneIsMadeThroughALink) {
  const TemporaryDirectory outside;
  fs::create_symlink(outside.path() + "/made", root + "/.vscode");
  fs::create_symlink("gone/further", root + "/.envrc");
  frozen = {root + "/.vscode", root + "/.envrc"};
  hidden = {};
  before = picture(root);
  const Outcome outcome = run("exit 0");
  ASSERT_TRUE(outcome.exit) << outcome.why();
  EXPECT_TRUE(outcome.reports("event:unguarded=" + root + "/.envrc"));
  EXPECT_TRUE(fs::is_empty(outside.path()));
  EXPECT_EQ(picture(root), before);
}

TEST_F(Placeholder, ItsDirectoryIsHeldAgainstThePlan) {
  PlanOp op;
  op.op = OpClass::kPlaceholder;
  op.path = root + "/.git/x";
  op.entry = "frozen[0]";
  const struct stat planned = facts_of(root + "/.git");
  op.device = planned.st_dev;
  op.inode = planned.st_ino;
  fs::rename(root + "/.git", root + "/.g");
  const auto gone = hold_placeholder(op, false);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().what.rfind("source_changed", 0), 0U) << gone.error().text();
  const TemporaryDirectory outside;
  fs::create_directory_symlink(outside.path(), root + "/.git");
  const auto link = hold_placeholder(op, false);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, "plan_refused");
  fs::remove(root + "/.git");
  fs::create_directory(root + "/.git");
  const auto other = hold_placeholder(op, false);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().what.rfind("source_changed", 0), 0U) << other.error().text();
  EXPECT_TRUE(fs::is_empty(outside.path()));
  EXPECT_TRUE(fs::is_empty(root + "/.git"));
}

TEST_F(Placeholder, ACancelWhileTheJailIsBuiltLeavesNothing) {
  before = picture(root, false);  // killed between two calls, a time of modification may stay
  for (int i = 0; i < 20; ++i) {
    runner.on_start = [](Execution& execution) { execution.cancel(); };
    const Outcome outcome = run("exit 0");
    EXPECT_TRUE(outcome.error);
  }
  runner.on_start = nullptr;
  for (int i = 0; i < 20; ++i) {
    // Gone without a word, at any moment of it.
    ExecEvents events;
    events.output = [](Stream, std::string_view, std::uint64_t, bool) {};
    events.stdin_consumed = [](std::uint64_t) {};
    events.exited = [](const ExecExit&) {};
    events.failed = [](const Error&) {};
    auto execution = start_execution(runner.loop, runner.host, request("exit 0"), std::move(events));
    auto timer = runner.loop.timer(runner.loop.now() + std::chrono::microseconds(100 * i), [&] { runner.loop.stop(); });
    runner.loop.run();
    execution.reset();
    EXPECT_TRUE(processes_of_init_below(::getpid()).empty());
  }
  EXPECT_EQ(picture(root, false), before);
}

TEST_F(Placeholder, ARepositoryThatTheCommandMadeIsSaid) {
  fs::remove_all(root + "/.git");
  frozen = {root + "/.envrc"};
  const Outcome without = run("mkdir .gi");
  ASSERT_TRUE(without.exit) << without.why();
  EXPECT_FALSE(without.reports("event:repo-created"));
  const Outcome made = run("mkdir .git");
  ASSERT_TRUE(made.exit) << made.why();
  EXPECT_TRUE(made.reports("event:repo-created=" + root)) << testing::PrintToString(made.exit->enforcement);
  const Outcome later = run("exit 0");
  ASSERT_TRUE(later.exit) << later.why();
  EXPECT_FALSE(later.reports("event:repo-created"));
}

TEST_F(Placeholder, AGitConfigThatTheCommandMayWriteAndHasChangedIsSaid) {
  put(root + "/.git/config", "[core]\n");
  frozen = {root + "/.git/hooks"};
  const Outcome read = run("cat .git/config; cp .git/config x");
  ASSERT_TRUE(read.exit) << read.why();
  EXPECT_FALSE(read.reports("event:changed"));
  for (const char* script :
       {"echo x >>.git/config", "echo y >x && touch -r .git/config x && mv x .git/config", "rm .git/config"}) {
    const Outcome written = run(script);
    ASSERT_TRUE(written.exit) << written.why();
    EXPECT_TRUE(written.reports("event:changed=" + root + "/.git/config")) << script;
  }
  put(root + "/.git/config", "[core]\n");
  frozen.push_back(root + "/.git/config");
  const Outcome closed = run("echo x >>.git/config");
  ASSERT_TRUE(closed.exit) << closed.why();
  EXPECT_FALSE(closed.reports("event:changed"));
}

TEST_F(Placeholder, RecordsComeBackAsTheyWere) {
  const GuardRecord record{{"/ws/\xff a", "/real/ b", "/real"}, 1ULL << 63U, 7};
  const auto back = decode_guard(encode_guard(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->entry.path, record.entry.path);
  EXPECT_EQ(back->entry.real, record.entry.real);
  EXPECT_EQ(back->entry.placeholder, record.entry.placeholder);
  EXPECT_EQ(back->device, record.device);
  EXPECT_EQ(back->inode, record.inode);
  EXPECT_FALSE(decode_guard("1 2 3"));
  EXPECT_FALSE(decode_guard("1 2 30 0 short"));
}

}  // namespace
}  // namespace loom::helper::test
