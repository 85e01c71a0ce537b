#include "helper/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <utility>

#include "helper/cgroup_files.h"
#include "os/fds.h"

namespace loom::helper {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr long kCgroup2Magic = 0x63677270;
// More than a helper ever has at once: what is past it stands there for another reason.
constexpr unsigned kMostNames = 1024;
// How long what was killed may take to be gone. It has been reaped as a rule before anybody asks.
constexpr int kPatienceMs = 200;

tl::unexpected<Error> failed(const std::string& where, const std::string& what) {
  return fail("cgroup_failed", where, what);
}

std::uint64_t page_size() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool may_write(int directory, const char* name) {
  return ::faccessat(directory, name, W_OK, AT_EACCESS) == 0;
}

std::string path_of(int fd) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
  return {path.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

bool may_enter(int base) {
  const auto own = own_cgroup(read_at(AT_FDCWD, "/proc/self/cgroup").value_or(""));
  const std::string path = path_of(base);
  const auto mount = mount_of_cgroup(read_at(AT_FDCWD, "/proc/self/mountinfo").value_or(""), path);
  if (!own || !mount) return false;
  const auto meeting = meeting_place(*mount, path, *own);
  return meeting && may_write(AT_FDCWD, (*meeting + "/cgroup.procs").c_str());
}

}  // namespace

Cgroup::Cgroup(UniqueFd base, std::string name, UniqueFd directory, unsigned own)
    : base_(std::move(base)), name_(std::move(name)), directory_(std::move(directory)), own_(own) {}

Cgroup::~Cgroup() {
  if (!directory_) return;
  directory_.reset();
  if (remove_cgroup(base_.get(), name_)) return;
  const UniqueFd directory(::openat(base_.get(), name_.c_str(), kDirectory | O_NOFOLLOW));
  if (!directory) return;
  kill_cgroup(directory.get());
  wait_until_empty(directory.get(), kPatienceMs);
  // What even KILL does not move is left to the sweep of a later start.
  remove_cgroup(base_.get(), name_);
}

Result<Cgroup> Cgroup::adopt(int base, std::string name, unsigned own) {
  UniqueFd own_base(::fcntl(base, F_DUPFD_CLOEXEC, 0));
  UniqueFd directory(::openat(base, name.c_str(), kDirectory | O_NOFOLLOW));
  if (!own_base || !directory) return failed(name, "cannot open it: " + errno_text(errno));
  return Cgroup(std::move(own_base), std::move(name), std::move(directory), own);
}

Result<Cgroup> Cgroup::make(int base, const Limits& limits, unsigned own) {
  std::string name;
  int error = EEXIST;
  for (unsigned id = 0; error == EEXIST && id < kMostNames; ++id) {
    name = to_text(CgroupName{id, ::getpid()});
    error = ::mkdirat(base, name.c_str(), 0755) == 0 ? 0 : errno;
  }
  if (error != 0) return failed(name, "cannot make it: " + errno_text(error));
  auto made = adopt(base, name, own);
  if (!made) {
    remove_cgroup(base, name);
    return made;
  }
  LOOM_CHECK(made->set(limits));
  return made;
}

Status Cgroup::set(const Limits& limits) const {
  for (const CgroupSetting& setting : cgroup_settings(limits, own_)) {
    const int error = write_at(directory_.get(), setting.file.c_str(), setting.value);
    if (error == ENOENT && setting.where_there) continue;
    if (error != 0) return failed(setting.file, "cannot set it: " + errno_text(error));
  }
  return {};
}

Result<std::string> Cgroup::verify(pid_t init, const Limits& limits) const {
  const std::string processes = read_at(directory_.get(), "cgroup.procs").value_or("");
  if (init <= 0 || !lists_process(processes, init)) return failed("cgroup.procs", "the jail's init is not in it");
  if (count_processes(processes) < 2) return failed("cgroup.procs", "the command's process is not in it");
  std::string held;
  for (const CgroupSetting& setting : cgroup_settings(limits, own_)) {
    auto shown = read_at(directory_.get(), setting.file.c_str());
    if (!shown && setting.where_there) continue;
    if (!shown || !setting_holds(setting.value, *shown, page_size())) return failed(setting.file, "does not hold");
    while (!shown->empty() && shown->back() == '\n') shown->pop_back();
    held.append(held.empty() ? "" : ",").append(setting.file).append("=").append(*shown);
  }
  return held;
}

std::uint64_t Cgroup::cpu_us() const {
  return counter_of(read_at(directory_.get(), "cpu.stat").value_or(""), "usage_usec").value_or(0);
}

std::vector<std::string> Cgroup::events() const {
  std::vector<std::string> events;
  const auto add = [&](const char* file, const char* key, const char* event) {
    const auto count = counter_of(read_at(directory_.get(), file).value_or(""), key);
    if (count.value_or(0) > 0) events.push_back(std::string(event) + "=" + std::to_string(*count));
  };
  add("memory.events", "oom_kill", "oom-kill");
  add("pids.events", "max", "pids-max");
  return events;
}

void Cgroup::kill() const {
  kill_cgroup(directory_.get());
}

CgroupBaseFacts read_cgroup_base(int base) {
  CgroupBaseFacts facts;
  struct statfs system {};
  facts.is_cgroup2 = ::fstatfs(base, &system) == 0 && system.f_type == kCgroup2Magic;
  facts.type = read_at(base, "cgroup.type");
  facts.controllers = read_at(base, "cgroup.controllers");
  facts.enabled = read_at(base, "cgroup.subtree_control");
  facts.processes = read_at(base, "cgroup.procs");
  facts.may_make = may_write(base, ".") && may_write(base, "cgroup.procs");
  facts.may_enable = may_write(base, "cgroup.subtree_control");
  facts.may_enter = facts.is_cgroup2 && may_enter(base);
  return facts;
}

Result<CgroupBase> CgroupBase::find(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), kDirectory));
  if (!directory) return fail("bad_cgroup_base", path, "cannot open it: " + errno_text(errno));
  if (std::string why = judge_cgroup_base(read_cgroup_base(directory.get())); !why.empty()) {
    return fail("bad_cgroup_base", path, std::move(why), "loom-enforcement(7) says how a base is made");
  }
  return CgroupBase(path, std::move(directory));
}

Status CgroupBase::prepare() const {
  const std::string wanted = controllers_to_enable(read_at(directory_.get(), "cgroup.subtree_control").value_or(""));
  if (wanted.empty()) return {};
  const int error = write_at(directory_.get(), "cgroup.subtree_control", wanted);
  if (error == 0) return {};
  return fail("bad_cgroup_base", path_, "cannot enable " + wanted + " in it: " + errno_text(error),
              "loom-enforcement(7) says how a base is made");
}

unsigned sweep_cgroups(int base, const std::function<bool(pid_t)>& lives) {
  unsigned removed = 0;
  for (const std::string& name : directories_in(base)) {
    const auto parsed = parse_cgroup_name(name);
    if (!parsed) continue;
    const UniqueFd directory(::openat(base, name.c_str(), kDirectory | O_NOFOLLOW));
    const std::string events = directory ? read_at(directory.get(), "cgroup.events").value_or("") : "";
    if (is_stale_cgroup(name, lives(parsed->helper), events) && remove_cgroup(base, name)) ++removed;
  }
  return removed;
}

bool helper_lives(pid_t pid) {
  return pid != ::getpid() && (::kill(pid, 0) == 0 || errno != ESRCH);
}

}  // namespace loom::helper
