#include "helper/cgroup_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>

#include "helper/cgroup_rules.h"
#include "os/unique_fd.h"

namespace loom::helper {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kMost = 1U << 20U;

bool is_empty(int events) {
  std::array<char, 256> text{};
  const ssize_t got = ::pread(events, text.data(), text.size(), 0);
  return got > 0 && counter_of({text.data(), static_cast<std::size_t>(got)}, "populated") == std::uint64_t{0};
}

void kill_one_by_one(int directory) {
  const std::string processes = read_at(directory, "cgroup.procs").value_or("");
  for (std::size_t at = 0; at < processes.size(); at = processes.find('\n', at) + 1) {
    pid_t pid = 0;
    std::from_chars(processes.data() + at, processes.data() + processes.size(), pid);
    if (pid > 0) ::kill(pid, SIGKILL);  // 0: of a namespace that is not ours to see
    if (processes.find('\n', at) == std::string::npos) break;
  }
  for (const std::string& name : directories_in(directory)) {
    const UniqueFd below(::openat(directory, name.c_str(), kDirectory));
    if (below) kill_one_by_one(below.get());
  }
}

}  // namespace

std::optional<std::string> read_at(int directory, const char* name) {
  const UniqueFd fd(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got < 0) return std::nullopt;
    if (got == 0 || text.size() > kMost) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

int write_at(int directory, const char* name, std::string_view text) {
  const UniqueFd fd(::openat(directory, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return errno;
  return ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

std::vector<std::string> directories_in(int directory) {
  std::vector<std::string> names;
  UniqueFd fd(::openat(directory, ".", kDirectory));
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> listing(fd ? ::fdopendir(fd.get()) : nullptr, close);
  if (!listing) return names;
  fd.release();  // the listing has it
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

void kill_cgroup(int directory) {
  if (write_at(directory, "cgroup.kill", "1") != 0) kill_one_by_one(directory);
}

bool wait_until_empty(int directory, int milliseconds) {
  const UniqueFd events(::openat(directory, "cgroup.events", O_RDONLY | O_CLOEXEC));
  if (!events) return true;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (!is_empty(events.get())) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd change{events.get(), POLLPRI, 0};
    ::poll(&change, 1, static_cast<int>(left));
  }
  return true;
}

bool remove_cgroup(int parent, const std::string& name) {
  // A directory that has none below it is the rule, and goes at once.
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  const UniqueFd directory(::openat(parent, name.c_str(), kDirectory));
  if (!directory) return false;
  for (const std::string& below : directories_in(directory.get())) remove_cgroup(directory.get(), below);
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace loom::helper
