#include "service/daemon.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include "os/fds.h"
#include "os/signals.h"
#include "service/readiness.h"

namespace loom::service {

Status lock_down() {
  ::umask(077);
  const rlimit no_core{0, 0};
  if (::setrlimit(RLIMIT_CORE, &no_core) != 0 || ::prctl(PR_SET_DUMPABLE, 0) != 0) {
    return fail("lock_down_failed", "", "cannot forbid core files: " + errno_text(errno));
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
  // Held back from here on: one that comes early is seen by the loop, when there is something to close.
  const Signals signals(loop, {SIGTERM, SIGINT}, [&daemon](int) {
    notify_supervisor("STOPPING=1");
    daemon.close();
  });
  LOOM_CHECK(daemon.open());
  LOOM_CHECK(daemon.drop());
  LOOM_CHECK(lock_down());
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
