#include "os/subreaper.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

namespace loom {
namespace {

ChildEnd decode(int status) {
  if (WIFSIGNALED(status)) return ChildEnd{128 + WTERMSIG(status), WTERMSIG(status)};
  return ChildEnd{WEXITSTATUS(status), 0};
}

void children_of_thread(const std::string& thread_dir, std::vector<pid_t>& children) {
  std::ifstream list(thread_dir + "/children");
  for (pid_t child = 0; list >> child;) children.push_back(child);
}

}  // namespace

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(tasks.c_str()), ::closedir);
  if (!dir) return children;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_name[0] != '.') children_of_thread(tasks + "/" + entry->d_name, children);
  }
  return children;
}

Result<std::unique_ptr<Subreaper>> Subreaper::open(Loop& loop, Reaped on_orphan) {
  const auto failed = [](const char* what) {
    return fail("subreaper_failed", "", std::string(what) + ": " + std::strerror(errno));
  };
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return failed("cannot become the reaper of orphans");
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  // An inherited SIG_IGN would let the kernel reap in our place and every status would be lost.
  if (::signal(SIGCHLD, SIG_DFL) == SIG_ERR) return failed("cannot watch for children");
  if (::sigprocmask(SIG_BLOCK, &mask, nullptr) != 0) return failed("cannot watch for children");
  UniqueFd signals(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return failed("cannot watch for children");
  return std::unique_ptr<Subreaper>(new Subreaper(loop, std::move(signals), std::move(on_orphan)));
}

Subreaper::Subreaper(Loop& loop, UniqueFd signals, Reaped on_orphan)
    : signals_(std::move(signals)), on_orphan_(std::move(on_orphan)) {
  watch_ = loop.watch(signals_.get(), Readiness::kRead, [this] {
    drain_signals();
    reap();
  });
}

void Subreaper::expect(pid_t pid, Ended ended) {
  expected_.insert_or_assign(pid, std::move(ended));
}

std::vector<pid_t> Subreaper::orphans() const {
  std::vector<pid_t> found;
  for (const pid_t child : children_of(::getpid())) {
    if (expected_.count(child) == 0) found.push_back(child);
  }
  return found;
}

void Subreaper::drain_signals() {
  signalfd_siginfo ignored{};
  while (::read(signals_.get(), &ignored, sizeof ignored) == sizeof ignored) {
  }
}

void Subreaper::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    const auto found = expected_.find(pid);
    if (found == expected_.end()) {
      on_orphan_(pid);
      continue;
    }
    const Ended ended = std::move(found->second);
    expected_.erase(found);
    ended(decode(status));
  }
}

}  // namespace loom
