// Names that an earlier command or another process has planted, as destination and as source: the host never changes
// outside the roots, and nothing outside is shown (spec/jail.md "Sources are the attacker's too").
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

namespace fs = std::filesystem;

constexpr char kSecret[] = "outside-secret";

void put(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

// Tells of every change in a directory, one that was undone too.
class Unchanged {
 public:
  explicit Unchanged(const std::string& path) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    constexpr auto kChanges = IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO;
    EXPECT_GE(::inotify_add_watch(fd_.get(), path.c_str(), kChanges), 0);
  }
  [[nodiscard]] std::string changes() const {
    alignas(inotify_event) std::array<char, 4096> events{};
    const ssize_t got = ::read(fd_.get(), events.data(), events.size());
    if (got <= 0) return "";
    const auto* event = reinterpret_cast<const inotify_event*>(events.data());
    return std::to_string(event->mask) + " " + (event->len > 0 ? event->name : "");
  }

 private:
  UniqueFd fd_;
};

class Planted : public testing::Test {
 protected:
  void SetUp() override {
    if (!runner.host.no_container.empty()) GTEST_SKIP() << runner.host.no_container;
    put(ssh + "/id", kSecret);
    put(ssh + "/hooks/id", kSecret);
    fs::create_directories(outer);
  }
  // Reads and writes all it can reach, by every name.
  ExecRequest request() {
    ExecRequest made = JailRunner::shell(
        "cd " + outer +
            " 2>/dev/null || cd /tmp\n"
            "for f in * */* */*/* .[a-z]* " +
            ssh + "/* " + ssh + "/hooks/* /oldroot" + ssh + "/* /proc/self/root" + ssh +
            "/* "
            "/proc/1/root" +
            ssh + "/*; do [ -f $f ] && cat $f; echo x >$f; echo x >$f/new; mkdir $f/made; done 2>/dev/null; exit 0",
        outer);
    made.cwd = "/";
    return made;
  }

  JailRunner runner;
  TemporaryDirectory home;
  std::string ssh = home.path() + "/ssh";
  std::string outer = home.path() + "/outer";
};

TEST_F(Planted, NoLinkInAWritableRootIsADestinationOrASourceWhateverItLeadsTo) {
  const std::vector<std::string> targets{ssh,
                                         "/oldroot" + ssh,
                                         "/proc/self/root" + ssh,
                                         "/proc/self/fd/3",
                                         "../ssh",
                                         "..",
                                         "../../../../../../../../.." + ssh,
                                         ssh + "/dangling",
                                         "loop"};
  int refused = 0;
  int ran = 0;
  const Unchanged watch(ssh);
  const Unchanged watch_hooks(ssh + "/hooks");
  for (const std::string& target : targets) {
    for (int use = 0; use < 8; ++use) {
      fs::remove(outer + "/loop");
      fs::create_symlink(target, outer + "/loop");
      ExecRequest asked = request();
      Policy& policy = asked.policy;
      const Path name = outer + "/loop" + (use % 2 == 0 ? "" : "/hooks");
      if (use / 2 == 0) policy.frozen = {name};
      if (use / 2 == 1) policy.protected_paths = {name};
      if (use / 2 == 2) policy.mounts = {{name, Access::kReadWrite, false}};
      if (use / 2 == 3) policy.writable_roots.push_back(name);
      const Outcome outcome = runner.run(std::move(asked));
      ++(outcome.exit ? ran : refused);
      EXPECT_EQ(outcome.out.find(kSecret), std::string::npos) << target << " " << use;
      EXPECT_EQ(watch.changes(), "") << target << " " << use;
      EXPECT_EQ(watch_hooks.changes(), "") << target << " " << use;
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(ran, 10);
}

TEST_F(Planted, ARootThatWasReplacedByALinkToTheKeysIsRefused) {
  fs::create_directory_symlink(ssh, outer + "/ws");
  ExecRequest asked = request();
  asked.policy.writable_roots.push_back(outer + "/ws");
  const Outcome outcome = runner.run(std::move(asked));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, "plan_refused");
  EXPECT_NE(outcome.error->what.find("source_through_link: " + outer + "/ws"), std::string::npos) << outcome.why();
}

// Another process exchanges what was looked at for a link to the keys, as fast as it can, while jails are built.
class Swapper {
 public:
  Swapper(std::string name, std::string link) : name_(std::move(name)), link_(std::move(link)) {
    EXPECT_EQ(::pipe2(told_.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    for (std::uint64_t count = 0;; ++count) {
      constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE
      ::syscall(SYS_renameat2, AT_FDCWD, name_.c_str(), AT_FDCWD, link_.c_str(), kExchange);
      if (count == kEnough) (void)!::write(told_[1], "x", 1);
    }
  }
  ~Swapper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(told_[0]);
    ::close(told_[1]);
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  // It has swapped thousands of times.
  [[nodiscard]] bool enough() const {
    pollfd entry{told_[0], POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  }

 private:
  static constexpr std::uint64_t kEnough = 5000;
  std::string name_, link_;
  std::array<int, 2> told_{};
  pid_t pid_ = -1;
};

class Swapped : public Planted, public testing::WithParamInterface<const char*> {};

TEST_P(Swapped, BetweenLookAndUseShowsAndChangesNothingOutside) {
  const std::string use = GetParam();
  const std::string name = outer + "/there";
  const bool file = use == "protected file";
  if (file) {
    put(name, "inside");
    fs::create_symlink(ssh + "/id", outer + "/link");
  } else {
    put(name + "/hooks/id", "inside");
    fs::create_directory_symlink(ssh, outer + "/link");
  }
  const Unchanged watch(ssh);
  const Unchanged watch_hooks(ssh + "/hooks");
  int refused = 0;
  int runs = 0;
  {
    const Swapper swapper(name, outer + "/link");
    for (; runs < 1000 && (runs < 30 || !swapper.enough()); ++runs) {
      ExecRequest asked = request();
      Policy& policy = asked.policy;
      if (use == "frozen") policy.frozen = {name + "/hooks"};
      if (use == "protected") policy.protected_paths = {name + "/hooks"};
      if (file) policy.protected_paths = {name};
      if (use == "mount") policy.mounts = {{name + "/hooks", Access::kReadWrite, false}};
      if (use == "root") policy.writable_roots.push_back(name);
      if (use == "scratch") policy.scratch.host_path = name;
      if (use == "placeholder") policy.frozen = {name + "/absent", name + "/hooks/absent"};
      const Outcome outcome = runner.run(std::move(asked));
      refused += outcome.error ? 1 : 0;
      ASSERT_EQ(outcome.out.find(kSecret), std::string::npos) << outcome.out;
      ASSERT_EQ(watch.changes(), "") << runs;
      ASSERT_EQ(watch_hooks.changes(), "") << runs;
    }
    EXPECT_TRUE(swapper.enough());
  }
  RecordProperty("refused", refused);
  RecordProperty("runs", runs);
}

INSTANTIATE_TEST_SUITE_P(AsEverything, Swapped,
                         testing::Values("frozen", "protected", "protected file", "mount", "root", "scratch",
                                         "placeholder"),
                         [](const auto& use) {
                           std::string name = use.param;
                           name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
                           return name;
                         });

}  // namespace
}  // namespace loom::helper::test
