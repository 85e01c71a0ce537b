// What each layer of a jail costs: the time of a child that is made, puts the one layer on, and ends, less that of a
// child that puts on none, as a share of a posix_spawn of /usr/bin/true. All contenders interleaved; medians.
//   layers [ROUNDS]      (400)     LOOM_CGROUP_BASE: also a cgroup made and removed
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "plan/seccomp_filter.h"
#include "plan/seccomp_table.h"

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

double child(std::uint64_t flags, const std::function<void()>& deed) {
  const auto began = Clock::now();
  clone_args args{};
  args.flags = flags;
  args.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) {
    deed();
    ::_exit(0);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(static_cast<pid_t>(pid), &status, 0) != pid || status != 0) {
    std::perror("layers: a child failed");
    std::exit(1);
  }
  return us_since(began);
}

double spawn_true() {
  const auto began = Clock::now();
  char name[] = "/usr/bin/true";
  char* argv[] = {name, nullptr};
  pid_t pid = 0;
  int status = 0;
  if (::posix_spawn(&pid, name, nullptr, nullptr, argv, environ) != 0 || ::waitpid(pid, &status, 0) != pid)
    std::exit(1);
  return us_since(began);
}

void must(bool done) {
  if (!done) ::_exit(1);
}

void landlock() {
  struct {
    std::uint64_t fs;
  } handled{0x1fff};
  struct __attribute__((packed)) {
    std::uint64_t access;
    std::int32_t parent;
  } beneath{0xc, -1};
  const long set = ::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
  must(set >= 0);
  for (const char* path : {"/usr", "/etc", "/tmp", "/proc", "/dev"}) {
    beneath.parent = ::open(path, O_PATH | O_CLOEXEC);
    must(::syscall(SYS_landlock_add_rule, set, 1, &beneath, 0) == 0);
  }
  must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::syscall(SYS_landlock_restrict_self, set, 0) == 0);
}

void seccomp(const std::string& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
                           reinterpret_cast<sock_filter*>(const_cast<char*>(filter.data()))};
  must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
       ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

void rlimits() {
  for (const auto resource : {RLIMIT_CORE, RLIMIT_CPU, RLIMIT_FSIZE}) {
    rlimit limit{};
    must(::getrlimit(resource, &limit) == 0);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 1U << 20U);
    must(::setrlimit(resource, &limit) == 0);
  }
}

void ten_binds() {
  must(::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) == 0);
  const int tmpfs = ::fsopen("tmpfs", FSOPEN_CLOEXEC);
  must(tmpfs >= 0 && ::fsconfig(tmpfs, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0);
  const int root = ::fsmount(tmpfs, FSMOUNT_CLOEXEC, 0);
  must(root >= 0 && ::move_mount(root, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) == 0);
  for (int i = 0; i < 10; ++i) {
    const std::string name = std::to_string(i);
    const int tree = ::open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    mount_attr read_only{};
    read_only.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
    must(::mkdirat(root, name.c_str(), 0755) == 0 && tree >= 0);
    must(::mount_setattr(tree, "", AT_EMPTY_PATH, &read_only, sizeof read_only) == 0);
    must(::move_mount(tree, "", root, name.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0);
  }
}

struct Contender {
  std::string name;
  std::function<double()> run;
  std::vector<double> us;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 400;
  const std::string filter =
      loom::compile_seccomp(loom::seccomp_table({loom::NetworkMode::kOff, true}), loom::kThisMachine);
  const auto nothing = [] {};
  // A user may make the others only in a user namespace of its own, whose cost has a row of its own.
  const std::uint64_t user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
  std::vector<Contender> contenders = {{"posix_spawn", &spawn_true, {}},
                                       {"plain", [&] { return child(0, nothing); }, {}},
                                       {"user", [&] { return child(CLONE_NEWUSER, nothing); }, {}}};
  const std::pair<const char*, std::uint64_t> namespaces[] = {{"mnt", CLONE_NEWNS},        {"pid", CLONE_NEWPID},
                                                              {"ipc", CLONE_NEWIPC},       {"uts", CLONE_NEWUTS},
                                                              {"cgroup", CLONE_NEWCGROUP}, {"net", CLONE_NEWNET}};
  for (const auto& [name, flag] : namespaces) {
    const std::uint64_t flags = flag | user;
    contenders.push_back({name, [=] { return child(flags, nothing); }, {}});
  }
  const std::uint64_t mnt = CLONE_NEWNS | user;
  if (user == 0) contenders.push_back({"ten mounts", [=] { return child(mnt, &ten_binds); }, {}});
  contenders.push_back({"landlock", [=] { return child(0, &landlock); }, {}});
  contenders.push_back({"seccomp", [&] { return child(0, [&] { seccomp(filter); }); }, {}});
  contenders.push_back({"rlimits", [=] { return child(0, &rlimits); }, {}});
  if (const char* base = std::getenv("LOOM_CGROUP_BASE"); base != nullptr && *base != '\0') {
    const std::string path = std::string(base) + "/bench";
    contenders.push_back({"cgroup-v2",
                          [=] {
                            const auto began = Clock::now();
                            if (::mkdir(path.c_str(), 0755) != 0 || ::rmdir(path.c_str()) != 0) std::exit(1);
                            return us_since(began);
                          },
                          {}});
  }
  for (int i = 0; i < rounds; ++i) {
    for (Contender& one : contenders) one.us.push_back(one.run());
  }
  const auto of = [&](const std::string& name) {
    for (const Contender& one : contenders) {
      if (one.name == name) return median(one.us);
    }
    return 0.0;
  };
  const double unit = of("posix_spawn");
  std::printf("layer\tmedian us\tshare of posix_spawn\n");
  for (const Contender& one : contenders) {
    double less = one.name == "posix_spawn" || one.name == "cgroup-v2" ? 0 : of("plain");
    if (one.name == "plain") less = 0;
    if (user != 0 && one.name != "user" && (one.name.size() <= 3 || one.name == "cgroup")) less = of("user");
    if (one.name == "ten mounts") less = of("mnt");
    std::printf("%s\t%.0f\t%.2f\n", one.name.c_str(), median(one.us), (median(one.us) - less) / unit);
  }
  return 0;
}
