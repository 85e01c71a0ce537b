#include "os/doctor_facts.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "os/fds.h"

namespace loom {
namespace {

constexpr long kCgroup2Magic = 0x63677270;
constexpr std::size_t kMostBytes = 1U << 20U;

std::string text_of(const std::string& path) {
  std::string text = read_file(path, kMostBytes).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Sysctl sysctl(const std::string& name) {
  const std::string text = text_of("/proc/sys/" + name);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// Each with arguments that no kernel takes: EFAULT, EINVAL or EBADF say that the call is there.
std::vector<std::pair<std::string, int>> try_mount_calls() {
  std::vector<std::pair<std::string, int>> answers;
  const auto try_one = [&](const char* name, long number, long first) {
    answers.emplace_back(name, ::syscall(number, first, nullptr, -1L, nullptr, 0L) < 0 ? errno : 0);
  };
  // Of these, fsopen and fsmount ask for a privilege first, which only a jail's own namespace has: left to the helper.
  try_one("open_tree", SYS_open_tree, -1);
  try_one("mount_setattr", SYS_mount_setattr, -1);
  return answers;
}

template <class Each>
void each_line(const std::string& text, Each each) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    each(text.substr(at, end - at));
    at = end + 1;
  }
}

// "... 0:5 /root /mount/point options ...": the fifth field.
std::string mount_point(const std::string& line) {
  std::size_t at = 0;
  for (int field = 0; field < 4 && at != std::string::npos; ++field) at = line.find(' ', at) + 1;
  return line.substr(at, line.find(' ', at) - at);
}

std::vector<std::string> mounts_over_proc() {
  std::vector<std::string> found;
  each_line(text_of("/proc/self/mountinfo"), [&](const std::string& line) {
    const std::string point = mount_point(line);
    // The automount of binfmt_misc covers a directory that is made to be covered.
    if (point.rfind("/proc/", 0) == 0 && point != "/proc/sys/fs/binfmt_misc") found.push_back(point);
  });
  return found;
}

bool is_cgroup2(const char* path) {
  struct statfs system {};
  return ::statfs(path, &system) == 0 && system.f_type == kCgroup2Magic;
}

CgroupLayout layout() {
  if (is_cgroup2("/sys/fs/cgroup")) return CgroupLayout::kUnified;
  if (is_cgroup2("/sys/fs/cgroup/unified")) return CgroupLayout::kHybrid;
  return ::access("/sys/fs/cgroup/memory", F_OK) == 0 ? CgroupLayout::kLegacy : CgroupLayout::kNone;
}

std::string own_cgroup() {
  std::string found;
  each_line(text_of("/proc/self/cgroup"), [&](const std::string& line) {
    if (line.rfind("0::", 0) == 0) found = line.substr(3);
  });
  return found;
}

}  // namespace

DoctorFacts look_at_host_for_doctor() {
  DoctorFacts facts;
  facts.uid = ::geteuid();
  facts.root = facts.uid == 0;
  utsname name{};
  if (::uname(&name) == 0) facts.kernel = name.release;
  facts.max_user_namespaces = sysctl("user/max_user_namespaces");
  facts.unprivileged_userns_clone = sysctl("kernel/unprivileged_userns_clone");
  facts.apparmor_restricts_userns = sysctl("kernel/apparmor_restrict_unprivileged_userns");
  facts.mount_calls = try_mount_calls();
  facts.over_proc = mounts_over_proc();
  facts.lsm = text_of("/sys/kernel/security/lsm");
  facts.cgroups = layout();
  facts.own_cgroup = own_cgroup();
  return facts;
}

}  // namespace loom
