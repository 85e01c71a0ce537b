#include "service/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/unique_fd.h"
#include "service/readiness.h"

namespace loom::service {
namespace {

Result<UniqueFd> take_stop_signals() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTERM);
  ::sigaddset(&stop, SIGINT);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  UniqueFd fd(::signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail("lock_down_failed", "", std::string("cannot watch for signals: ") + std::strerror(errno));
  return fd;
}

}  // namespace

Status lock_down() {
  ::umask(077);
  const rlimit no_core{0, 0};
  if (::setrlimit(RLIMIT_CORE, &no_core) != 0 || ::prctl(PR_SET_DUMPABLE, 0) != 0) {
    return fail("lock_down_failed", "", std::string("cannot forbid core files: ") + std::strerror(errno));
  }
  return {};
}

Result<int> run_daemon(Loop& loop, Daemon& daemon, const DaemonOptions& options) {
  if (options.ready_fd >= 0) {
    if (!is_open(options.ready_fd)) {
      return fail("ready_fd_failed", "--ready-fd " + std::to_string(options.ready_fd), "the descriptor is not open");
    }
    ::fcntl(options.ready_fd, F_SETFD, FD_CLOEXEC);
  }
  LOOM_TRY(const UniqueFd signals, take_stop_signals());
  LOOM_CHECK(daemon.open());
  LOOM_CHECK(daemon.drop());
  LOOM_CHECK(lock_down());
  const auto on_signal = [&signals, &daemon] {
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      notify_supervisor("STOPPING=1");
      daemon.close();
    }
  };
  const Loop::Watch watch = loop.watch(signals.get(), Readiness::kRead, on_signal);
  int status = 0;
  const std::string line = daemon.serve([&loop, &status](int given) {
    status = given;
    loop.stop();
  });
  if (options.ready_fd >= 0) {
    LOOM_CHECK(announce_ready(options.ready_fd, line));
  }
  notify_supervisor("READY=1");
  loop.run();
  return status;
}

}  // namespace loom::service
